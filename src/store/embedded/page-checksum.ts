/** The size of a page, and the pages of one file of a relation: block numbers go on in the next file. */
export const pageBytes = 8192;
export const pagesPerFile = 131_072;

/** Files of pages with checksums: `base/5/16384`, `global/1262_vm.1`. */
export const hasPages = /^(?:global|base\/\d+)\/(?:t\d+_)?\d+(?:_(?:fsm|vm|init))?(?:\.(\d+))?$/;

// As in PostgreSQL's src/include/storage/checksum_impl.h.
const offsets = Int32Array.from([
  0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a, 0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c, 0xf8d4474f,
  0xe39eb970, 0x42c6ae16, 0x993216fa, 0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb, 0xe58f764b, 0x187636bc,
  0x5d7b3bb1, 0xe73de7de, 0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4, 0x783125bb, 0x6ca8eaa2, 0xe407eac6,
  0x4b5cfc3e, 0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756,
]);
const prime = 16_777_619;
const [checksumAt, upperAt] = [8, 14];

/**
 * Whether a page is as PostgreSQL wrote it: its checksum is right, or it consists of zeros.
 *
 * @param page `pageBytes` long
 * @param block its number in the relation
 */
export function isIntact(page: Buffer, block: number): boolean {
  if (page.readUInt16LE(upperAt) === 0) return page.every((byte) => byte === 0);
  return page.readUInt16LE(checksumAt) === checksumOf(page, block);
}

function checksumOf(page: Buffer, block: number): number {
  const words = new Int32Array(pageBytes / 4);
  for (let i = 0; i < words.length; i += 1) words[i] = page.readInt32LE(4 * i);
  words[2]! &= ~0xffff; // the checksum itself
  const sums = Int32Array.from(offsets);
  const add = (lane: number, word: number) => {
    const mixed = sums[lane]! ^ word;
    sums[lane] = Math.imul(mixed, prime) ^ (mixed >>> 17);
  };
  for (let i = 0; i < words.length; i += 1) add(i % sums.length, words[i]!);
  for (let i = 0; i < 2 * sums.length; i += 1) add(i % sums.length, 0);
  const folded = sums.reduce((all, sum) => all ^ sum) ^ block;
  return ((folded >>> 0) % 65_535) + 1;
}
