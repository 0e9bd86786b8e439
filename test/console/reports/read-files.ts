import { strFromU8, unzipSync } from 'fflate';

/** The cells of the first sheet of an Excel file, empty ones undefined, and the lines of the one that describes it. */
export function readXlsx(file: Uint8Array) {
  const files = unzipSync(file);
  const part = (name: string) => strFromU8(files[name]!);
  const plain = (xml: string) =>
    xml
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&');
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
  return { rows: rowsOf(part('xl/worksheets/sheet1.xml')), about };
}
