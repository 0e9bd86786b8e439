import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { csvWriter } from '../../../src/common/csv.ts';
import { parseCsv } from './read-files.ts';

describe('CSV', () => {
  async function write(columns: string[], rows: Record<string, string | null>[]): Promise<string> {
    const writer = csvWriter(columns);
    const written = text(writer.pipe(new PassThrough()));
    for (const row of rows) writer.write(row);
    writer.end();
    return written;
  }

  it('is read back as it was written, whatever the values', async () => {
    const value = fc.option(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'अ', ';') }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ one: value, two: value }), { minLength: 1 }), async (rows) => {
        const read = parseCsv(await write(['one', 'two'], rows));
        const plain = (cell: string | null) => cell ?? '';
        // A value that begins with a line break is marked as text.
        const marked = (cell: string | null) => (/^[\r\n]/.test(cell ?? '') ? `'${cell}` : plain(cell));
        expect(read).toEqual([['one', 'two'], ...rows.map(({ one, two }) => [marked(one), marked(two)])]);
      }),
    );
  });

  it('contains no formula, unless it is for machines', async () => {
    const formulas = [
      '=1+1',
      '+911234',
      '-2+3',
      '@sum(a1)',
      '\t=1',
      '\r=1',
      '\n=1',
      '=HYPERLINK("https://elsewhere.invalid")',
      '＝1',
    ];
    const csv = await write(
      ['value'],
      formulas.map((value) => ({ value })),
    );
    const [, ...cells] = parseCsv(csv);
    expect(cells.map(([cell]) => cell)).toEqual(formulas.map((formula) => `'${formula}`));
    const writer = csvWriter(['value'], { forMachines: true });
    for (const value of formulas) writer.write({ value });
    writer.end();
    expect(
      parseCsv(await text(writer))
        .slice(1)
        .flat(),
    ).toEqual(formulas);
  });

  it('does not mark numbers as text', async () => {
    const numbers = ['-12.50', '0', '12345678901234567890.01', '-0'];
    const [, ...cells] = parseCsv(
      await write(
        ['value'],
        numbers.map((value) => ({ value })),
      ),
    );
    expect(cells.flat()).toEqual(numbers);
  });

  it('has a header even without rows', async () => {
    expect(await write(['one', 'two'], [])).toBe('one,two\r\n');
  });
});
