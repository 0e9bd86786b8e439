import { z } from 'zod';
import { callbackEvents, type Family, pathsOf, takesEveryEvent } from '../src/callbacks/families/family.ts';
import { type FamilyPaths, variablesOf } from '../src/common/config/variables.ts';

/** Variables that belong together. The documents are written from them, by `npm run docs`. */
interface VariableGroup {
  title: string;
  /** In Markdown, as the descriptions, with links relative to docs. */
  intro?: string;
  variables: Record<string, z.ZodType>;
}

/** Most deployments set these. */
const inReadme =
  `PORT TRUST_PROXY EVENTS_PATH SIGNING_KEYS ALLOWED_IPS DATABASE_URL REDIS_URL RETENTION PUBLIC_URL ADMIN_TOKEN
  REPORT_TIMEZONE METRICS_TOKEN`.split(/\s+/);

/** By the first variable of each group. */
const headings: Record<string, { title: string; intro?: string }> = {
  HOST: {
    title: 'Receive callbacks',
    intro:
      'The paths are those that are registered with the platform. Each variable takes one or several, comma-separated; they may ' +
      'contain an [unguessable part](security.md#unguessable-paths), such as the output of `openssl rand -hex 16`. The other ' +
      '[families](callbacks.md#families) have their documented paths.',
  },
  NODE_ENV: {
    title: 'Check senders',
    intro: 'Each [access check](security.md#access-checks) can be enabled by itself.',
  },
  DATABASE_URL: { title: 'Store data' },
  REDIS_URL: { title: 'Queue jobs' },
  BODY_LIMIT: { title: 'Set limits' },
  RETENTION: { title: 'Keep and erase data' },
  PUBLIC_URL: { title: 'Open the console' },
  LOG_LEVEL: { title: 'Observe' },
  ALERT_WEBHOOK_URL: {
    title: 'Send alerts',
    intro: '[Alerts](metrics.md#alerts) tell what the checks find.',
  },
  SERVICE_BASE_URL: {
    title: 'Call the platform',
    intro:
      'These are for the [commands of the client](client.md#commands) and the [reconciliation](reconciliation.md).',
  },
  RECONCILE: { title: 'Find what is missing' },
  CHANGES_TOKENS: { title: 'Tell others what changed' },
};

function variableGroups(families: readonly FamilyPaths[]): VariableGroup[] {
  const groups: VariableGroup[] = [];
  for (const [name, schema] of Object.entries(variablesOf(families))) {
    const heading = headings[name];
    if (heading) groups.push({ ...heading, variables: {} });
    groups.at(-1)!.variables[name] = schema;
  }
  return groups;
}

interface Variable {
  name: string;
  /** Empty: none. */
  default: string;
  /** In Markdown, with links relative to docs. */
  description: string;
}

/** Replaces a part of a document, between two comments. */
function replacePart(text: string, name: string, part: string): string {
  const [first, last] = [`<!-- ${name}: npm run docs -->`, `<!-- end of the ${name} -->`] as const;
  const [before, rest] = text.split(first, 2) as [string, string];
  return `${before}${first}\n\n${part}\n\n${last}${rest.split(last)[1]}`;
}

const propertiesOf = ({ variables }: VariableGroup): Variable[] => {
  const { properties = {} } = z.toJSONSchema(z.object(variables), { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, property]) => {
    const { default: value = '', description = '' } = property as z.core.JSONSchema.BaseSchema;
    return {
      name,
      default: String(value),
      description: description.replaceAll('’', "'"),
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
    const lines = propertiesOf(group).map(
      ({ name, default: value, description }) => `${comment(plain(description))}\n#${name}=${value}`,
    );
    return [head, '', ...lines].join('\n');
  });
  return `# Every variable with its default. Copy this file to .env, and uncomment what you change.\n\n${parts.join('\n\n')}\n`;
}

function configuration(groups: VariableGroup[]): string {
  const parts = groups.map((group) =>
    [`## ${group.title}`, ...(group.intro ? [group.intro] : []), variableTable(propertiesOf(group))].join(
      '\n\n',
    ),
  );
  return `<!-- Written from src/common/config/variables.ts by: npm run docs -->

# Configuration

Set variables in the environment or in a file \`.env\`; [.env.example](../.env.example) is one with all of them. The start checks them: it
prints what is wrong and ends with 78, also for a variable of version 1 that went, with what to use instead. An empty value counts as unset.
A variable spelt nearly like one of these is named. A family is a kind of record.

Blanks and line ends around a value are cut. Quotes around one end the start: only in \`.env\` they are syntax, and needed where a value has
a \`#\`. A line of \`.env\` that is not understood, or sets a variable again, ends the start, too.

Each value, such as a secret of Docker or Kubernetes, may come from a file: \`SIGNING_KEYS_FILE\` names that of \`SIGNING_KEYS\`. Of a
list, a line is a part. SIGHUP, on no terminal, reads \`SIGNING_KEYS\` and \`ALLOWED_IPS\` again, also from \`.env\` and files; the log says how
many were added and removed.

${parts.join('\n\n')}

[README](../README.md) · Next: [security](security.md)
`;
}

const firstSentence = (text: string) => text.split(/\. (?=[A-Z])/)[0]!;

function readme(text: string, groups: VariableGroup[]): string {
  const fromRoot = (document: string) => document.replace(link, (whole) => whole.replace('](', '](docs/'));
  const variables = groups
    .flatMap(propertiesOf)
    .filter(({ name }) => inReadme.includes(name))
    .map((variable) => ({ ...variable, description: fromRoot(firstSentence(variable.description)) }));
  return replacePart(text, 'variables', variableTable(variables));
}

function callbacks(text: string, families: readonly Family[]): string {
  const list = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
  const lines = families.map((family) => {
    const { name, table, key, path } = family;
    const events = takesEveryEvent(family)
      ? 'every event that no family lists'
      : list(callbackEvents(family));
    const rows = key ? list([key]) : 'each callback';
    return `- **${name}**, ${list([table])} (${rows}), ${list(path.default)}: ${events}`;
  });
  return replacePart(text, 'families', lines.join('\n'));
}

/** What the variables, the families are documented in: paths, and the texts that are to be there. */
export function configurationDocuments(
  families: readonly Family[],
  read: (path: string) => string,
): Record<string, string> {
  const groups = variableGroups(families.map(pathsOf));
  return {
    '.env.example': example(groups),
    'docs/configuration.md': configuration(groups),
    'docs/callbacks.md': callbacks(read('docs/callbacks.md'), families),
    'README.md': readme(read('README.md'), groups),
  };
}
