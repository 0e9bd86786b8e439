/** A page out of rows that were read with one more than its size. */
export const takePage = <Row>(rows: readonly Row[], size: number) => ({
  rows: rows.slice(0, size),
  more: rows.length > size,
});
