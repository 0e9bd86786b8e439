import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Table from 'cli-table3';
import type { Setting } from './setting.ts';

export interface Report {
  name: string;
  setting: Setting;
  tables: string[][][];
}

/** Prints the tables and writes them as Markdown. @returns the file's path */
export function writeReport(folder: string, { name, setting, tables }: Report): string {
  for (const [head, ...rows] of tables) {
    const table = new Table({ head: head!, style: { head: [], border: [] }, wordWrap: true });
    table.push(...rows);
    process.stdout.write(`${table.toString()}\n`);
  }
  mkdirSync(folder, { recursive: true });
  const facts = Object.entries(setting).map(([fact, value]) => `- ${fact}: ${value}`);
  const markdown = [`# ${name}`, facts.join('\n'), ...tables.map(asMarkdown)].join('\n\n');
  const file = join(folder, `${name}.md`);
  writeFileSync(file, `${markdown}\n`);
  return file;
}

function asMarkdown([head, ...rows]: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head!), line(head!.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
