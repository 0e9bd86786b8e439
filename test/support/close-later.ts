const closes: (() => unknown)[] = [];

/** Registers what a test has opened; the last is closed first. */
export const closeLater = (close: () => unknown): void => {
  closes.push(close);
};
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close();
});
