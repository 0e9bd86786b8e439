import { Duplex } from 'node:stream';
import { strToU8, Zip, ZipDeflate } from 'fflate';
import { formatAmount } from '../../common/words.ts';

/** The kind of a column's values, each as PostgreSQL writes it. A moment is shown in the time zone that it is written in. */
export type CellKind = 'amount' | 'date' | 'moment' | 'text' | 'number';

export interface XlsxColumn {
  name: string;
  title: string;
  kind: CellKind;
  summed: boolean;
  /** In characters. */
  width: number;
}

interface Workbook {
  title: string;
  columns: readonly XlsxColumn[];
  /** The second sheet: a line for each name and text. */
  about: readonly (readonly [name: string, text: string])[];
}

type Row = Readonly<Record<string, string | null>>;

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const packages = 'http://schemas.openxmlformats.org/package/2006';
const documents = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const types = 'application/vnd.openxmlformats-';

const relations = (targets: readonly (readonly [type: string, target: string])[]) =>
  `<Relationships xmlns="${packages}/relationships">${targets
    .map(([type, to], at) => `<Relationship Id="rId${at + 1}" Type="${documents}/${type}" Target="${to}"/>`)
    .join('')}</Relationships>`;

// Excel refuses a file with a longer cell.
export const maxText = 32_767;
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeXml = (value: string) =>
  value
    .slice(0, maxText)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"]/g, (sign) => entities[sign]!);

const font = '<sz val="11"/><name val="Calibri"/>';

/** The number formats of the kinds that have one, in the order of their styles. */
const codes: Partial<Record<CellKind, string>> = {
  // Rupees; Excel itself has no Indian grouping.
  amount: '[>=10000000]"₹"##\\,##\\,##\\,##0.00;[>=100000]"₹"##\\,##\\,##0.00;"₹"##,##0.00',
  date: 'd mmm yyyy',
  moment: 'd mmm yyyy, hh:mm:ss',
  text: '@',
};
const kinds = Object.keys(codes);
const formats = Object.values(codes).map(
  (code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${escapeXml(code)}"/>`,
);
const cells = kinds.map((_, at) => `<xf numFmtId="${164 + at}" applyNumberFormat="1"/>`);

const headStyle = 1;
/** The index of a kind's style, behind the plain one and that of the head. */
const styleOf = (kind: CellKind) => (kind in codes ? kinds.indexOf(kind) + 2 : 0);
const totalStyleOf = (kind: CellKind) => (kind === 'amount' ? kinds.length + 2 : headStyle);

const stylesPart = `<styleSheet xmlns="${main}"><numFmts count="${kinds.length}">${formats.join('')}</numFmts>
<fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="${kinds.length + 3}"><xf/><xf fontId="1" applyFont="1"/>${cells.join('')}
<xf numFmtId="164" applyNumberFormat="1" fontId="1" applyFont="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

/** A sheet's name has at most 31 characters, and none of these. */
const sheetName = (title: string) => escapeXml(title.replace(/[[\]:*?/\\']/g, ' ').slice(0, 31));

const parts = ({ title, about }: Workbook) => ({
  '[Content_Types].xml': `<Types xmlns="${packages}/content-types">
<Default Extension="rels" ContentType="${types}package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="${types}officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/styles.xml" ContentType="${types}officedocument.spreadsheetml.styles+xml"/>
${[1, 2].map((sheet) => `<Override PartName="/xl/worksheets/sheet${sheet}.xml" ContentType="${types}officedocument.spreadsheetml.worksheet+xml"/>`).join('')}</Types>`,
  '_rels/.rels': relations([['officeDocument', 'xl/workbook.xml']]),
  // The head is printed on every page.
  'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${documents}">
<sheets><sheet name="${sheetName(title)}" sheetId="1" r:id="rId1"/><sheet name="About" sheetId="2" r:id="rId2"/></sheets>
<definedNames><definedName name="_xlnm.Print_Titles" localSheetId="0">'${sheetName(title)}'!$1:$1</definedName></definedNames>
</workbook>`,
  'xl/_rels/workbook.xml.rels': relations([
    ['worksheet', 'worksheets/sheet1.xml'],
    ['worksheet', 'worksheets/sheet2.xml'],
    ['styles', 'styles.xml'],
  ]),
  'xl/styles.xml': stylesPart,
  'xl/worksheets/sheet2.xml': `<worksheet xmlns="${main}"><cols>${colOf(1, 28)}${colOf(2, 90)}</cols><sheetData>${about
    .map(([name, text]) => `<row>${textCell(name, headStyle)}${textCell(text, styleOf('text'))}</row>`)
    .join('')}</sheetData></worksheet>`,
});

const colOf = (place: number, width: number) =>
  `<col min="${place}" max="${place}" width="${width}" customWidth="1"/>`;

const textCell = (value: string, style: number) =>
  `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(value)}</t></is></c>`;

/** A date, or a date and time where it was written, as a spreadsheet counts it: in days. */
function serial(value: string) {
  const local = value.replace(/^(\S+) (\S+)[+-]\d\d(:\d\d)*$/, '$1T$2Z');
  // Before March 1900, Excel counts otherwise; after the year 9999 it does not count.
  const days = /^\d{4}-[^ ]*$/.test(local) ? Date.parse(local) / 86_400_000 + 25_569 : 0;
  return days > 60 ? days : undefined;
}

function numberOf(kind: CellKind, value: string): number | string | undefined {
  if (kind === 'date' || kind === 'moment') return serial(value);
  if (kind === 'text' || !/^-?\d+(\.\d+)?$/.test(value)) return undefined;
  // Excel calculates with 15 digits: of an amount, those of less than a paisa are rounded.
  if (value.replace(/\D/g, '').length <= 15) return value;
  return kind === 'amount' && value.replace(/\..*|\D/g, '').length <= 13
    ? Number(value).toPrecision(15)
    : undefined;
}

/** @param isSummed false: a text, which no sum of a spreadsheet has */
function cell({ kind, summed }: XlsxColumn, value: string | null | undefined, isSummed: boolean): string {
  if (value === null || value === undefined) return '<c/>';
  if (summed && !isSummed) return textCell(kind === 'amount' ? formatAmount(value) : value, styleOf('text'));
  const number = numberOf(kind, value);
  if (number === undefined) return textCell(value, styleOf('text'));
  return `<c s="${styleOf(kind)}"><v>${number}</v></c>`;
}

/** The letters of a column, counted from 1: A to Z, then AA. */
const lettersOf = (column: number): string =>
  column > 0 ? lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26)) : '';

/** The sums of the rows that a reader's filter shows; readers that do not calculate show those of all. */
function totalRow(columns: readonly XlsxColumn[], sums: readonly number[], last: number): string {
  if (last === 1 || !columns.some(({ summed }) => summed)) return '';
  const cells = columns.map(({ kind, summed }, index) => {
    if (!summed) return index === 0 ? textCell('Total', headStyle) : '<c/>';
    const letters = lettersOf(index + 1);
    const value = Number(sums[index]!.toFixed(4));
    // A sum that a double cannot hold is left to the reader.
    const shown = Number.isFinite(value) ? `<v>${value}</v>` : '';
    return `<c s="${totalStyleOf(kind)}"><f>SUBTOTAL(109,${letters}2:${letters}${last})</f>${shown}</c>`;
  });
  return `<row>${cells.join('')}</row>`;
}

const beginSheet = (columns: readonly XlsxColumn[]) =>
  `${head}<worksheet xmlns="${main}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>
<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>
</sheetViews><cols>${columns.map(({ width }, index) => colOf(index + 1, width)).join('')}</cols><sheetData>
<row>${columns.map(({ title }) => textCell(title, headStyle)).join('')}</row>`;

/**
 * Turns rows into an Excel file, as a stream: its memory does not grow with the rows. Texts are never formulas there. Its
 * head stays, and has the arrows that filter and sort; the last row has totals, and a second sheet says what the file is.
 */
export function xlsxWriter(workbook: Workbook): Duplex {
  const { columns } = workbook;
  return Duplex.from(async function* (rows: AsyncIterable<Row>) {
    const chunks: Uint8Array[] = [];
    const zip = new Zip((error, chunk) => {
      if (error) throw error;
      chunks.push(chunk);
    });
    const add = (name: string) => {
      const part = new ZipDeflate(name, { level: 1 });
      zip.add(part);
      return part;
    };
    for (const [name, content] of Object.entries(parts(workbook)))
      add(name).push(strToU8(head + content), true);
    const sheet = add('xl/worksheets/sheet1.xml');
    const sums = columns.map(() => 0);
    let pending = beginSheet(columns);
    let last = 1;
    for await (const row of rows) {
      last += 1;
      const isSummed = row.is_summed !== 'false';
      columns.forEach(({ name, summed }, index) => {
        if (summed && isSummed) sums[index]! += Number(row[name] ?? 0);
      });
      pending += `<row>${columns.map((column) => cell(column, row[column.name], isSummed)).join('')}</row>`;
      if (pending.length < 65_536) continue;
      sheet.push(strToU8(pending));
      pending = '';
      yield* chunks.splice(0);
    }
    const filter = `<autoFilter ref="A1:${lettersOf(columns.length)}${last}"/>`;
    const page = '<pageSetup orientation="landscape" fitToHeight="0"/>';
    const end = `${totalRow(columns, sums, last)}</sheetData>${filter}${page}</worksheet>`;
    sheet.push(strToU8(pending + end), true);
    zip.end();
    yield* chunks;
  });
}
