import { strFromU8, unzipSync } from 'fflate';

/** Parses CSV as in RFC 4180, independently of the code that writes it. */
export function parseCsv(csv: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y;
  while (cell.lastIndex < csv.length) {
    const [whole, quoted, plain, end] = cell.exec(csv)!;
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === '\r\n' && cell.lastIndex < csv.length) rows.push([]);
    if (whole === '') break;
  }
  return rows;
}

/** The cells of the first sheet of an Excel file, empty ones undefined, and the lines of the one that describes it. */
export async function readXlsx(response: Response) {
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  const part = (name: string) => strFromU8(files[name]!);
  const plain = (xml: string) =>
    xml
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&');
  const sheet = part('xl/worksheets/sheet1.xml');
  const codes = [...part('xl/styles.xml').matchAll(/formatCode="([^"]+)"/g)].map(([, code]) => plain(code!));
  const cellOf = ([, style, content]: RegExpMatchArray) => {
    const text = /<t [^>]*>([\s\S]*)<\/t>/.exec(content ?? '')?.[1];
    const value = text === undefined ? Number(/<v>(.*)<\/v>/.exec(content!)![1]) : plain(text);
    return { value, format: codes[Number(style) - 2] };
  };
  const rowsOf = (xml: string) =>
    [...xml.matchAll(/<row>([\s\S]*?)<\/row>/g)].map(([, row]) =>
      [...row!.matchAll(/<c\/>|<c(?: s="(\d+)")?[^/>]*>([\s\S]*?)<\/c>/g)].map((cell) =>
        cell[0] === '<c/>' ? undefined : cellOf(cell),
      ),
    );
  const about = rowsOf(part('xl/worksheets/sheet2.xml')).map(([name, text]) => [name!.value, text!.value]);
  return { rows: rowsOf(sheet), sheet, about };
}
