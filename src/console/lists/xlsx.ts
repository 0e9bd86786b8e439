import { strToU8, Zip, ZipDeflate } from 'fflate';
import type { ColumnKind, ViewColumn } from '../../receiver/store/view-columns.ts';
import { isAliasKind } from '../../reconcile/aliases.ts';
import { formatAmount } from '../ui/values.tsx';
import type { ListRow } from './query.ts';

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const packages = 'http://schemas.openxmlformats.org/package/2006';
const documents = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const types = 'application/vnd.openxmlformats-';

const relations = (targets: Record<string, string>) =>
  `<Relationships xmlns="${packages}/relationships">${Object.entries(targets)
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

/** The number formats of the kinds; every other kind is a text. A moment is shown in the time zone that it is written in. */
const codes: Partial<Record<ColumnKind, string>> = {
  count: 'General',
  figure: 'General',
  // Rupees; Excel itself has no Indian grouping.
  amount: '[>=10000000]"₹"##\\,##\\,##\\,##0.00;[>=100000]"₹"##\\,##\\,##0.00;"₹"##,##0.00',
  day: 'd mmm yyyy',
  moment: 'd mmm yyyy, hh:mm:ss',
  text: '@',
};
const kinds = Object.keys(codes);
const formats = Object.values(codes).map(
  (code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${escapeXml(code)}"/>`,
);
const styles = kinds.flatMap((_, at) =>
  [0, 1].map((font) => `<xf numFmtId="${164 + at}" applyNumberFormat="1" fontId="${font}" applyFont="1"/>`),
);
const styleOf = (kind: ColumnKind, isBold = false) =>
  2 * kinds.indexOf(codes[kind] ? kind : 'text') + Number(isBold);
const font = '<sz val="11"/><name val="Calibri"/>';

const partsOf = (name: string) => ({
  '[Content_Types].xml': `<Types xmlns="${packages}/content-types">
<Default Extension="rels" ContentType="${types}package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="${types}officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/styles.xml" ContentType="${types}officedocument.spreadsheetml.styles+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${types}officedocument.spreadsheetml.worksheet+xml"/></Types>`,
  '_rels/.rels': relations({ officeDocument: 'xl/workbook.xml' }),
  'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${documents}"><sheets><sheet name="${name}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relations({ worksheet: 'worksheets/sheet1.xml', styles: 'styles.xml' }),
  'xl/styles.xml': `<styleSheet xmlns="${main}"><numFmts count="${kinds.length}">${formats.join('')}</numFmts>
<fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="${styles.length}">${styles.join('')}</cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
});

const textCell = (value: string, isBold = false) =>
  `<c s="${styleOf('text', isBold)}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(value)}</t></is></c>`;

/** A date, or a date and time where it was written, as a spreadsheet counts it: in days. */
function serial(value: string) {
  const local = value.replace(/^(\S+) (\S+)[+-]\d\d(:\d\d)*$/, '$1T$2Z');
  // Before March 1900, Excel counts otherwise; after the year 9999 it does not count.
  const days = /^\d{4}-[^ ]*$/.test(local) ? Date.parse(local) / 86_400_000 + 25_569 : 0;
  return days > 60 ? days : undefined;
}

/** The digits of an amount that a double does not hold are less than a paisa. */
function numberOf(kind: ColumnKind, value: string): number | undefined {
  if (kind === 'day' || kind === 'moment') return serial(value);
  return kind !== 'text' && codes[kind] && /^-?\d{1,13}(\.\d+)?$/.test(value) ? Number(value) : undefined;
}

/** What was paid too much takes nothing from what is due elsewhere. */
const isCounted = ({ name, summed }: ViewColumn, row: ListRow) =>
  summed && !(name === 'due_amount' && Number(row[name]) < 0);

/** What is not counted is a text, which no sum of a spreadsheet has. */
function cell(column: ViewColumn, row: ListRow): string {
  const { name, kind, summed } = column;
  const value = row[name];
  if (value === null || value === undefined) return '<c/>';
  if (summed && !isCounted(column, row)) return textCell(kind === 'amount' ? formatAmount(value) : value);
  const number = numberOf(kind, value);
  return number === undefined ? textCell(value) : `<c s="${styleOf(kind)}"><v>${number}</v></c>`;
}

const widthOf = (kind: ColumnKind) => (isAliasKind(kind) || ['person', 'moment'].includes(kind) ? 24 : 16);

const beginSheet = (columns: readonly ViewColumn[]) =>
  `${head}<worksheet xmlns="${main}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>
<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>
</sheetViews><cols>${columns.map(({ kind }, at) => `<col min="${at + 1}" max="${at + 1}" width="${widthOf(kind)}" customWidth="1"/>`).join('')}</cols>
<sheetData><row>${columns.map(({ label }) => textCell(label, true)).join('')}</row>`;

/** The last row has the sums of the rows that a filter shows; readers that do not calculate show those of all. @param last row */
function endSheet(columns: readonly ViewColumn[], sums: readonly number[], last: number): string {
  const totals = columns.map(({ kind, summed }, at) => {
    if (!summed) return at === 0 ? textCell('Total', true) : '<c/>';
    const letter = String.fromCharCode(65 + at);
    const formula = `<f>SUBTOTAL(109,${letter}2:${letter}${last})</f><v>${Number(sums[at]!.toFixed(4))}</v>`;
    return `<c s="${styleOf(kind, true)}">${formula}</c>`;
  });
  const row = last > 1 && columns.some(({ summed }) => summed) ? `<row>${totals.join('')}</row>` : '';
  return `${row}</sheetData><autoFilter ref="A1:${String.fromCharCode(64 + columns.length)}${last}"/>
<pageSetup orientation="landscape" fitToHeight="0"/></worksheet>`;
}

/**
 * Turns rows into an Excel file, as a stream: its memory does not grow with the rows. Texts are never formulas there. Its
 * head stays, and has the arrows that filter and sort.
 *
 * @param name of its sheet @param columns 26 at most
 */
export async function* writeXlsx(name: string, columns: readonly ViewColumn[], rows: AsyncIterable<ListRow>) {
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
  for (const [path, content] of Object.entries(partsOf(name))) add(path).push(strToU8(head + content), true);
  const sheet = add('xl/worksheets/sheet1.xml');
  const sums = columns.map(() => 0);
  let pending = beginSheet(columns);
  let last = 1;
  for await (const row of rows) {
    last += 1;
    columns.forEach((column, at) => {
      if (isCounted(column, row)) sums[at]! += Number(row[column.name] ?? 0);
    });
    pending += `<row>${columns.map((column) => cell(column, row)).join('')}</row>`;
    if (pending.length < 65_536) continue;
    sheet.push(strToU8(pending));
    pending = '';
    yield* chunks.splice(0);
  }
  sheet.push(strToU8(pending + endSheet(columns, sums, last)), true);
  zip.end();
  yield* chunks;
}
