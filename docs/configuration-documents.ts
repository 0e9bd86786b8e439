import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type VariableGroup, variableGroups } from '../src/config/environment-schema.ts';
import { type Family, takesEveryEvent } from '../src/families/index.ts';

interface Variable {
  name: string;
  /** Empty: none. */
  default: string;
  /** In Markdown, with links relative to docs. */
  description: string;
  first: boolean;
}

/** Replaces a table in a document, between two comments. */
function replaceTable(text: string, name: string, table: string): string {
  const [first, last] = [`<!-- ${name}: npm run docs -->`, `<!-- end of the ${name} -->`] as const;
  const [before, rest] = text.split(first, 2) as [string, string];
  return `${before}${first}\n\n${table}\n\n${last}${rest.split(last)[1]}`;
}

const variablesOf = ({ variables }: VariableGroup): Variable[] => {
  const { properties = {} } = z.toJSONSchema(z.object(variables), { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, property]) => {
    const { default: value = '', description = '', first } = property as z.core.JSONSchema.BaseSchema;
    return {
      name,
      default: String(value),
      description: description.replaceAll('’', "'"),
      first: first === true,
    };
  });
};

const cellsOf = ({ name, default: value, description }: Variable) => {
  const values = value.startsWith('/') ? value.split(',') : [value];
  const byDefault = value ? values.map((one) => `\`${one}\``).join(', ') : 'unset';
  return [`\`${name}\``, byDefault, description.replaceAll('|', '\\|')];
};

/** As the formatter writes it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]!.length)));
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join(
    '\n',
  );
}

const variableTable = (variables: Variable[]) =>
  table(['variable', 'default', 'meaning'], variables.map(cellsOf));

const link = /\[([^\]]*)\]\(([^)#]*)[^)]*\)/g;

/** Without Markdown: a link is followed by its document. */
const plain = (text: string) =>
  text
    .replace(link, (_, words: string, file: string) =>
      words === file ? `docs/${file}` : `${words} (docs/${file})`,
    )
    .replaceAll('`', '');

/** Lines of at most 120 characters that begin with `# `. */
function comment(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line.length + word.length < 118) lines[lines.length - 1] = line ? `${line} ${word}` : word;
    else lines.push(word);
  }
  return lines.map((line) => `# ${line}`).join('\n');
}

function example(groups: VariableGroup[]): string {
  const parts = groups.map((group) => {
    const head = [`## ${group.title}`, ...(group.intro ? [comment(plain(group.intro))] : [])].join('\n');
    const lines = variablesOf(group).map(
      ({ name, default: value, description }) => `${comment(plain(description))}\n#${name}=${value}`,
    );
    return [head, '', ...lines].join('\n');
  });
  return `# Every variable with its default. Copy this file to .env, and uncomment what you change.\n\n${parts.join('\n\n')}\n`;
}

function configuration(groups: VariableGroup[]): string {
  const parts = groups.map((group) =>
    [`## ${group.title}`, ...(group.intro ? [group.intro] : []), variableTable(variablesOf(group))].join(
      '\n\n',
    ),
  );
  return `<!-- Written from src/config/environment-schema.ts by: npm run docs -->

# Configuration

Set variables in the environment or in a file \`.env\`; [.env.example](../.env.example) is one with all of them. They are
checked at start: every error is printed, and the process exits with 78. An empty value counts as unset. A variable that is spelt
nearly like one of these, or has the name of a former version, is an error as well.

${parts.join('\n\n')}
`;
}

function readme(text: string, groups: VariableGroup[]): string {
  const fromRoot = (document: string) => document.replace(link, (whole) => whole.replace('](', '](docs/'));
  const variables = groups
    .flatMap(variablesOf)
    .filter(({ first }) => first)
    .map((variable) => ({ ...variable, description: fromRoot(variable.description) }));
  return replaceTable(text, 'variables', variableTable(variables));
}

function callbacks(text: string, families: readonly Family[]): string {
  const list = (names: readonly (string | undefined)[]) =>
    names.flatMap((name) => (name ? [`\`${name}\``] : [])).join(', ');
  const rows = families.map((family) => [
    list([family.name]),
    takesEveryEvent(family) ? 'every event that no family lists' : list(family.events),
    list([family.table, family.versions]),
    family.identifiedBy ? list([family.identifiedBy]) : 'callback',
  ]);
  return replaceTable(text, 'families', table(['family', 'events', 'table', 'a row per'], rows));
}

/** The views, with the comments that their SQL has. */
function reporting(text: string, files: readonly string[]): string {
  const comments = files.flatMap((file) => [
    ...file.matchAll(/comment on (?:view|function) reporting\.(\w+)\s+is '((?:[^']|'')+)'/g),
  ]);
  const isView = (name: string) => files.some((file) => new RegExp(`view reporting\\.${name} as`).test(file));
  const rows = comments
    .filter(([, name]) => isView(name!))
    .map(([, name, comment]) => [`\`${name}\``, comment!.replaceAll("''", "'").replaceAll('|', '\\|')]);
  return replaceTable(text, 'views', table(['view', 'what it contains'], rows));
}

/** What the variables, the families and the views are documented in: paths, and the texts that are to be there. */
export function configurationDocuments(
  families: readonly Family[],
  read: (path: string) => string,
): Record<string, string> {
  const groups = variableGroups(families);
  const views = readdirSync(join(import.meta.dirname, '../db/reporting')).sort();
  return {
    '.env.example': example(groups),
    'docs/configuration.md': configuration(groups),
    'docs/callbacks.md': callbacks(read('docs/callbacks.md'), families),
    'docs/reporting.md': reporting(
      read('docs/reporting.md'),
      views.map((file) => read(`db/reporting/${file}`)),
    ),
    'README.md': readme(read('README.md'), groups),
  };
}
