import { Transform } from 'node:stream';
import { strToU8, Zip, ZipDeflate } from 'fflate';
import { isAmount, isNumeric, type TypedColumn } from '../ui/field-value.tsx';
import { parseInterval } from '../ui/time.ts';
import type { ReportRow } from './queries.ts';

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const documents = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

// The position of a format here is the number of its style; 0 has none, 1 is the bold head.
const numberFormats = ['#,##,##0.00', 'd mmm yyyy', 'd mmm yyyy, hh:mm:ss', '[h]:mm:ss', '@'];
const [amount, date, moment, duration, text] = [2, 3, 4, 5, 6];

const font = '<sz val="11"/><name val="Calibri"/>';
const styles = `${head}<styleSheet xmlns="${main}"><numFmts count="${numberFormats.length}">${numberFormats
  .map((code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${code}"/>`)
  .join('')}</numFmts><fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="${numberFormats.length + 2}"><xf/><xf fontId="1" applyFont="1"/>${numberFormats
  .map((_, index) => `<xf numFmtId="${164 + index}" applyNumberFormat="1"/>`)
  .join(
    '',
  )}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

const parts = {
  '[Content_Types].xml': `${head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="${contentType}.sheet.main+xml"/>
<Override PartName="/xl/styles.xml" ContentType="${contentType}.styles+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${contentType}.worksheet+xml"/></Types>`,
  '_rels/.rels': `${head}<Relationships xmlns="${relations}">
<Relationship Id="rId1" Type="${documents}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${documents}">
<sheets><sheet name="Report" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="${relations}">
<Relationship Id="rId1" Type="${documents}/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="${documents}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': styles,
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

const textCell = (value: string, style = 0) =>
  `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(value)}</t></is></c>`;
const numberCell = (value: number | string, style = 0) => `<c s="${style}"><v>${value}</v></c>`;

/** A number of days, as a spreadsheet counts them, of a date and time without a time zone. */
function serial(local: string): number | undefined {
  const days = Date.parse(`${local.replace(' ', 'T')}Z`) / 86_400_000 + 25_569;
  // Before March 1900, Excel counts otherwise.
  return days > 60 ? days : undefined;
}

// Excel calculates with 15 digits.
const isExact = (value: string) => /^-?\d+(\.\d+)?$/.test(value) && value.replace(/\D/g, '').length <= 15;

function cell(column: TypedColumn, value: string | null | undefined): string {
  if (value === null || value === undefined) return '<c/>';
  const { type } = column;
  if (type === 'boolean') return `<c t="b"><v>${value === 'true' ? 1 : 0}</v></c>`;
  if (type === 'date' || type === 'timestamp with time zone') {
    const days = serial(type === 'date' ? `${value} 00:00:00` : value.replace(/[+-]\d\d(:\d\d)*$/, ''));
    if (days !== undefined) return numberCell(days, type === 'date' ? date : moment);
  }
  if (type === 'interval') {
    const seconds = parseInterval(value);
    if (seconds !== undefined && seconds >= 0) return numberCell(seconds / 86_400, duration);
  } else if (isNumeric(column) && isExact(value)) {
    return numberCell(value, isAmount(column) ? amount : 0);
  }
  return textCell(value, text);
}

/**
 * Turns rows into an Excel file with one sheet, as a stream: its memory does not grow with the rows. Texts are never
 * formulas there.
 */
export function xlsxWriter(columns: readonly TypedColumn[]): Transform {
  const zip = new Zip();
  const add = (name: string) => {
    const part = new ZipDeflate(name, { level: 1 });
    zip.add(part);
    return part;
  };
  let sheet: ZipDeflate;
  let pending = '';
  const flush = (last = false) => {
    sheet.push(strToU8(pending), last);
    pending = '';
  };
  return new Transform({
    writableObjectMode: true,
    construct(done) {
      zip.ondata = (error, chunk) => (error ? this.destroy(error) : void this.push(chunk));
      for (const [name, content] of Object.entries(parts)) add(name).push(strToU8(content), true);
      sheet = add('xl/worksheets/sheet1.xml');
      pending = `${head}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">
<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>
<cols><col min="1" max="${columns.length}" width="20" customWidth="1"/></cols><sheetData>
<row>${columns.map(({ name }) => textCell(name, 1)).join('')}</row>`;
      done();
    },
    transform(row: ReportRow, _encoding, done) {
      pending += `<row>${columns.map((column) => cell(column, row[column.name])).join('')}</row>`;
      if (pending.length > 65_536) flush();
      done();
    },
    flush(done) {
      pending += '</sheetData></worksheet>';
      flush(true);
      zip.end();
      done();
    },
  });
}
