import type { ServiceOptions, TestServices } from '../support/service.ts';
import { until } from '../support/until.ts';

export const token = 'k3v9x7q2m5n8b1c4';
export const publicToken = 'z8y6w4u2s9r7p5o3';

export const changes = {
  tokens: [
    { token, isPublic: false },
    { token: publicToken, isPublic: true },
  ],
};

/** Starts a receiver that serves changes, and waits until it does. */
export const serveChanges =
  (start: TestServices['start']) =>
  async (options: ServiceOptions = {}) => {
    const { url } = await start({ changes, role: 'receiver', ...options });
    const get = (query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
      fetch(`${url}/changes?${new URLSearchParams(query)}`, {
        headers: { Authorization: `Bearer ${token}`, ...headers },
      });
    await until(async () => (await get()).status !== 503);
    const read = async (query: Record<string, string> = {}, headers = {}) =>
      (await (await get(query, headers)).json()) as {
        changes: {
          cursor: string;
          family: string;
          id: string;
          kind: string;
          version: number;
          record: Record<string, unknown> | null;
        }[];
        next: string;
        more: boolean;
      };
    return { url, get, read };
  };
