/** What the values of a column are, each as PostgreSQL writes it. A moment is shown in the time zone that it is written in. */
export type CellKind = 'amount' | 'date' | 'moment' | 'duration' | 'share' | 'text' | 'number' | 'boolean';

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const font = '<sz val="11"/><name val="Calibri"/>';

/** Rupees. Excel itself has no Indian grouping. */
const amountCode = [
  '[>=10000000]"₹"##\\,##\\,##\\,##0.00',
  '[>=100000]"₹"##\\,##\\,##0.00',
  '"₹"##,##0.00',
].join(';');

const kinds: CellKind[] = ['amount', 'date', 'moment', 'duration', 'share', 'text'];

export const headStyle = 1;

/** The index of a style: the plain one, that of the head, one of each kind, and that of an amount in the total row. */
export function styleOf(kind: CellKind, inTotal = false): number {
  const at = kinds.indexOf(kind);
  if (inTotal) return kind === 'amount' ? kinds.length + 2 : headStyle;
  return at < 0 ? 0 : at + 2;
}

const attribute = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const codes = [amountCode, 'd mmm yyyy', 'd mmm yyyy, hh:mm:ss', '[h]:mm:ss', '0.0%', '@'];
const formats = codes.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${attribute(code)}"/>`);
const cells = codes.map((_, at) => `<xf numFmtId="${164 + at}" applyNumberFormat="1"/>`);

/** The part of an Excel file with its styles. */
export const stylesPart = `<styleSheet xmlns="${main}"><numFmts count="${codes.length}">${formats.join('')}</numFmts>
<fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="${codes.length + 3}"><xf/><xf fontId="1" applyFont="1"/>${cells.join('')}
<xf numFmtId="164" applyNumberFormat="1" fontId="1" applyFont="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;
