import { Duplex } from 'node:stream';
import { strToU8, Zip, ZipDeflate } from 'fflate';
import { parseInterval } from '../../families/times.ts';

// Their order is that of the styles, after the plain one and the bold one of the head.
const formats = {
  amount: '#,##,##0.00',
  date: 'd mmm yyyy',
  moment: 'd mmm yyyy, hh:mm:ss',
  duration: '[h]:mm:ss',
  text: '@',
};
const codes = Object.values(formats);
const styleOf = (kind: string) => Object.keys(formats).indexOf(kind) + 2;

export interface XlsxColumn {
  name: string;
  /** What its values are, each as PostgreSQL writes it. A moment is shown in the time zone that it is written in. */
  kind: keyof typeof formats | 'number' | 'boolean';
}

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const packages = 'http://schemas.openxmlformats.org/package/2006';
const documents = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const types = 'application/vnd.openxmlformats-';

/** The part that lists which parts another one refers to. */
const relations = (targets: readonly (readonly [type: string, target: string])[]) =>
  `<Relationships xmlns="${packages}/relationships">${targets
    .map(
      ([type, to], index) =>
        `<Relationship Id="rId${index + 1}" Type="${documents}/${type}" Target="${to}"/>`,
    )
    .join('')}</Relationships>`;

const font = '<sz val="11"/><name val="Calibri"/>';
const parts = {
  '[Content_Types].xml': `<Types xmlns="${packages}/content-types">
<Default Extension="rels" ContentType="${types}package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="${types}officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/styles.xml" ContentType="${types}officedocument.spreadsheetml.styles+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${types}officedocument.spreadsheetml.worksheet+xml"/></Types>`,
  '_rels/.rels': relations([['officeDocument', 'xl/workbook.xml']]),
  'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${documents}">
<sheets><sheet name="Report" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relations([
    ['worksheet', 'worksheets/sheet1.xml'],
    ['styles', 'styles.xml'],
  ]),
  'xl/styles.xml': `<styleSheet xmlns="${main}">
<numFmts count="${codes.length}">${codes
    .map((code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${code}"/>`)
    .join('')}</numFmts>
<fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="${codes.length + 2}"><xf/><xf fontId="1" applyFont="1"/>${codes
    .map((_, index) => `<xf numFmtId="${164 + index}" applyNumberFormat="1"/>`)
    .join('')}</cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
};

// Excel refuses a file with a longer cell.
const longestText = 32_767;
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** What XML cannot hold is replaced. */
const escapeXml = (value: string) =>
  value
    .slice(0, longestText)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>]/g, (sign) => entities[sign]!);

const textCell = (value: string, style: number) =>
  `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(value)}</t></is></c>`;

/** A date, or a date and time where it was written, as a spreadsheet counts it: in days. */
function serial(value: string) {
  const local = value.replace(/^(\S+) (\S+)[+-]\d\d(:\d\d)*$/, '$1T$2Z');
  const days = Date.parse(local) / 86_400_000 + 25_569;
  // Before March 1900, Excel counts otherwise.
  return days > 60 ? days : undefined;
}

/** The number that a cell holds; undefined: it holds the value as text. */
function numberOf(kind: XlsxColumn['kind'], value: string): number | string | undefined {
  if (kind === 'date' || kind === 'moment') return serial(value);
  if (kind === 'duration') {
    const days = (parseInterval(value) ?? -1) / 86_400;
    return days >= 0 ? days : undefined;
  }
  // Excel calculates with 15 digits.
  const isExact = /^-?\d+(\.\d+)?$/.test(value) && value.replace(/\D/g, '').length <= 15;
  return kind !== 'text' && isExact ? value : undefined;
}

function cell({ kind }: XlsxColumn, value: string | null | undefined): string {
  if (value === null || value === undefined) return '<c/>';
  if (kind === 'boolean') return `<c t="b"><v>${value === 'true' ? 1 : 0}</v></c>`;
  const number = numberOf(kind, value);
  if (number === undefined) return textCell(value, styleOf('text'));
  return `<c s="${kind === 'number' ? 0 : styleOf(kind)}"><v>${number}</v></c>`;
}

/** The letters of a column, counted from 1: A to Z, then AA. */
const lettersOf = (column: number): string =>
  column > 0 ? lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26)) : '';

/**
 * Turns rows into an Excel file with one sheet, as a stream: its memory does not grow with the rows. Texts are never
 * formulas there. Its head has the arrows that filter and sort.
 */
export function xlsxWriter(columns: readonly XlsxColumn[]): Duplex {
  return Duplex.from(async function* (rows: AsyncIterable<Readonly<Record<string, string | null>>>) {
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
    for (const [name, content] of Object.entries(parts)) add(name).push(strToU8(head + content), true);
    const sheet = add('xl/worksheets/sheet1.xml');
    let pending = `${head}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">
<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>
<cols><col min="1" max="${columns.length}" width="20" customWidth="1"/></cols><sheetData>
<row>${columns.map(({ name }) => textCell(name, 1)).join('')}</row>`;
    let last = 1;
    for await (const row of rows) {
      last += 1;
      pending += `<row>${columns.map((column) => cell(column, row[column.name])).join('')}</row>`;
      if (pending.length < 65_536) continue;
      sheet.push(strToU8(pending));
      pending = '';
      yield* chunks.splice(0);
    }
    const range = `A1:${lettersOf(columns.length)}${last}`;
    sheet.push(strToU8(`${pending}</sheetData><autoFilter ref="${range}"/></worksheet>`), true);
    zip.end();
    yield* chunks;
  });
}
