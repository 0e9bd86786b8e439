import { type Metric, parseExposition } from './exposition.ts';

export const adminToken = 'an-admin-token-of-tests';

/** Requests /metrics with the token. */
export function scrapeText(url: string, token = adminToken): Promise<Response> {
  return fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
}

export interface TestScrape {
  metrics: Map<string, Metric>;
  /** The value of the sample with these labels and no others; undefined if there is none. */
  value: (sample: string, labels?: Record<string, string>) => number | undefined;
}

export async function scrape(url: string): Promise<TestScrape> {
  const metrics = parseExposition(await (await scrapeText(url)).text());
  const samples = [...metrics.values()].flatMap((metric) => metric.samples);
  const isSame = (a: Record<string, string>, b: Record<string, string>) =>
    Object.keys(a).length === Object.keys(b).length &&
    Object.entries(a).every(([key, text]) => b[key] === text);
  return {
    metrics,
    value: (name, labels = {}) =>
      samples.find((sample) => sample.name === name && isSame(sample.labels, labels))?.value,
  };
}
