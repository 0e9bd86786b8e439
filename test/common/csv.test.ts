import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { csvWriter, parseCsv } from '../../src/common/csv.ts';

const value = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom(',', '"', '\r', '\n', '=', '-', '1', 'a') }),
  fc.constantFrom('आशा', '-12.5', '=1+1', '  ', '\uFEFF'),
);

it('what is written as CSV is read again as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(value, value), { maxLength: 5 }), async (rows) => {
      // In front of a formula, the writer's own quote cannot be told from another.
      fc.pre(rows.flat().every((one) => !/^'[=+\-@\t\r]/.test(one)));
      const writer = csvWriter(['one', 'two']);
      for (const [one, two] of rows) writer.write({ one, two });
      writer.end();
      const [head, ...read] = parseCsv(await text(writer));
      expect(head).toEqual({ line: 1, cells: ['one', 'two'] });
      const given = rows.filter((row) => row.some((one) => one !== ''));
      expect(read.map(({ cells }) => cells)).toEqual(given);
    }),
  );
});

it('each row knows the line on which it begins', () => {
  const rows = parseCsv('\uFEFFkind,id\r\n\n"a\nb",1\r\n\n"c ""d""",2');
  expect(rows).toEqual([
    { line: 1, cells: ['kind', 'id'] },
    { line: 3, cells: ['a\nb', '1'] },
    { line: 6, cells: ['c "d"', '2'] },
  ]);
});

it.each(['a,b\n"c', 'a,b\nc"d,e', 'a,b\n"c"d,e'])('a wrong quote is refused with its line: %j', (csv) => {
  expect(() => parseCsv(csv)).toThrow(/quote.* line 2/i);
});
