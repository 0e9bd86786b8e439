/** Removes an item; the last one takes its place. */
export function removeAt<T>(items: T[], place: number): T {
  const removed = items[place]!;
  items[place] = items.at(-1)!;
  items.pop();
  return removed;
}
