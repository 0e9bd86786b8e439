import type { Request, Response } from 'express';
import type { MessageGroup } from '../../common/message-groups.ts';
import type { Access } from '../../privacy/log/access-log.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { Outcome, sections } from '../ui/outcome.tsx';
import { sendPage } from '../ui/page.tsx';
import { formatCountOf } from '../ui/values.tsx';

/** What a replay did, or would do. */
interface Replayed {
  /** Each with its name in a preview, and afterwards. */
  figures: readonly (readonly [would: string, did: string, count: number])[];
  messages: readonly MessageGroup[];
  /** How many were replayed, whatever became of them. */
  tried: number;
  /** How many a replay after this preview is for; 0: it would do nothing. */
  useful: number;
  /** What a preview says about it. */
  advice: string;
}

/** A kind of row that is replayed: a preview first, then the replay itself. */
export interface Replay<Filter> {
  section: 'deliveries' | 'quarantine';
  /** The addresses of the replay, and of its preview. */
  address: string;
  preview: string;
  /** @throws BadInput */
  read: (form: Record<string, unknown>) => { filter: Filter; entered: Record<string, string> };
  count: (filter: Filter) => Promise<number>;
  run: (filter: Filter, options: { dryRun: boolean; limit: number }) => Promise<Replayed>;
  entry: (filter: Filter) => Pick<Access, 'action' | 'filter'>;
}

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 1_000;

/** Adds the preview of a replay, which changes nothing, and the replay itself, which is an entry of the access log. */
export function addReplay<Filter>(
  routes: Routes,
  { logAccess }: Pick<RouteDependencies, 'logAccess'>,
  { section, address, preview, read, count, run, entry }: Replay<Filter>,
): void {
  const { rows } = sections[section];
  const answer = async (req: Request, res: Response, isPreview: boolean) => {
    const { filter, entered: values } = read(req.body);
    const matching = await count(filter);
    if (!isPreview) await logAccess(res, { ...entry(filter), rows: Math.min(matching, limit) });
    const { figures, tried, useful, advice, messages } = await run(filter, { dryRun: isPreview, limit });
    const left = matching - tried;
    const [next, shown] = isPreview
      ? [
          useful > 0 && { action: address, text: `Replay ${formatCountOf(useful, rows)}` },
          { covers: { matching, tried }, intro: 'Tried and undone, nothing has changed:' },
        ]
      : [
          left > 0 && { action: preview, text: `Replay the other ${formatCountOf(left, rows)} …` },
          { about: values.id },
        ];
    const page = (
      <Outcome
        {...{ section, isPreview, messages, ...shown }}
        figures={Object.fromEntries(figures.map(([would, did, value]) => [isPreview ? would : did, value]))}
        next={next && { ...next, action: `/console${next.action}`, values }}
      >
        {isPreview && advice && <p>{advice}</p>}
      </Outcome>
    );
    sendPage(res, isPreview ? 'Preview replay' : 'Replayed', page);
  };
  routes.post(preview, 'operator', (req, res) => answer(req, res, true));
  routes.post(address, 'operator', (req, res) => answer(req, res, false));
}
