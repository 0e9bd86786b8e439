import { z } from 'zod';
import { type FamilyPaths, type VariableGroup, variableGroups } from '../src/config/environment-schema.ts';

interface Variable {
  name: string;
  /** Empty: none. */
  default: string;
  /** In Markdown, with links relative to docs. */
  description: string;
  first: boolean;
}

/** Where the table of README.md begins and ends. */
const markers = ['<!-- variables: npm run docs -->', '<!-- end of the variables -->'] as const;

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
function table(variables: Variable[]): string {
  const rows = [['variable', 'default', 'meaning'], ...variables.map(cellsOf)];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [head, ...rest] = rows.map(line);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest].join('\n');
}

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
    [`## ${group.title}`, ...(group.intro ? [group.intro] : []), table(variablesOf(group))].join('\n\n'),
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
  const [before, rest] = text.split(markers[0], 2) as [string, string];
  const fromRoot = (document: string) => document.replace(link, (whole) => whole.replace('](', '](docs/'));
  const variables = groups
    .flatMap(variablesOf)
    .filter(({ first }) => first)
    .map((variable) => ({ ...variable, description: fromRoot(variable.description) }));
  return `${before}${markers[0]}\n\n${table(variables)}\n\n${markers[1]}${rest.split(markers[1])[1]}`;
}

/** What the variables are documented in: paths, and the texts that are to be there. */
export function configurationDocuments(
  families: readonly FamilyPaths[],
  read: (path: string) => string,
): Record<string, string> {
  const groups = variableGroups(families);
  return {
    '.env.example': example(groups),
    'docs/configuration.md': configuration(groups),
    'README.md': readme(read('README.md'), groups),
  };
}
