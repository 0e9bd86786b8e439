/** A metric of a scrape. */
export interface Metric {
  type: string;
  help: string;
  samples: Sample[];
}

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const sampleLine = /^([a-z_][\w:]*)(?:\{((?:[a-z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/i;
const suffixes: Record<string, string[]> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};

/**
 * Parses the text format of Prometheus, strictly.
 *
 * @throws Error with the line that is not valid
 */
export function parseExposition(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  let current: [name: string, metric: Metric] | undefined;
  let help: [name: string, text: string] | undefined;
  if (!text.endsWith('\n')) throw new Error('The last line does not end.');
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      help = [name, rest];
    } else if (kind === 'TYPE') {
      if (metrics.has(name) || help?.[0] !== name) throw new Error(line);
      current = [name, { type: rest, help: help[1], samples: [] }];
      metrics.set(...current);
    } else if (line !== '') {
      const sample = parseSample(line);
      const names = (suffixes[current?.[1].type ?? ''] ?? ['']).map((suffix) => current?.[0] + suffix);
      if (!names.includes(sample.name)) throw new Error(line);
      current?.[1].samples.push(sample);
    }
  }
  return metrics;
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value = ''] = sampleLine.exec(line) ?? [];
  const number = value === 'Nan' ? Number.NaN : Number(value.replace('Inf', 'Infinity'));
  if (!name || (Number.isNaN(number) && value !== 'Nan')) throw new Error(line);
  const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key, text]) => [key, text]);
  return { name, labels: Object.fromEntries(pairs), value: number };
}
