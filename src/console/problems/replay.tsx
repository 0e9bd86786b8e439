import type { MessageGroup } from '../../common/message-groups.ts';
import type { Access } from '../../privacy/log/access-log.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { Outcome } from '../ui/outcome.tsx';
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
  /** The address of the replay. */
  replay: string;
  preview: string;
  /** @throws BadInput */
  read: (form: Record<string, unknown>) => { filter: Filter; entered: Record<string, string> };
  count: (filter: Filter) => Promise<number>;
  run: (filter: Filter, options: { dryRun: boolean; limit: number }) => Promise<Replayed>;
  entry: (filter: Filter) => Pick<Access, 'action' | 'filter'>;
}

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 1_000;

const rowsOf = {
  deliveries: ['delivery', 'deliveries'],
  quarantine: ['body', 'bodies'],
} as const;

/** Adds the preview of a replay, which changes nothing, and the replay itself, which is an entry of the access log. */
export function addReplay<Filter>(
  routes: Routes,
  { logAccess }: Pick<RouteDependencies, 'logAccess'>,
  { section, replay, preview, read, count, run, entry }: Replay<Filter>,
): void {
  const rows = rowsOf[section];
  routes.post(preview, 'operator', async (req, res) => {
    const { filter, entered } = read(req.body);
    const matching = await count(filter);
    const { figures, messages, tried, useful, advice } = await run(filter, { dryRun: true, limit });
    const text = `Replay ${formatCountOf(useful, rows)}`;
    const page = (
      <Outcome
        section={section}
        isPreview
        covers={{ matching, tried }}
        intro="Tried and undone, nothing has changed:"
        figures={Object.fromEntries(figures.map(([would, , value]) => [would, value]))}
        messages={messages}
        next={useful > 0 && { action: `/console${replay}`, values: entered, text }}
      >
        {advice && <p>{advice}</p>}
      </Outcome>
    );
    sendPage(res, 'Preview replay', page);
  });

  routes.post(replay, 'operator', async (req, res) => {
    const { filter, entered } = read(req.body);
    const matching = await count(filter);
    await logAccess(res, { ...entry(filter), rows: Math.min(matching, limit) });
    const { figures, messages, tried } = await run(filter, { dryRun: false, limit });
    const left = matching - tried;
    const text = `Replay the other ${formatCountOf(left, rows)} …`;
    const page = (
      <Outcome
        section={section}
        figures={Object.fromEntries(figures.map(([, did, value]) => [did, value]))}
        messages={messages}
        next={left > 0 && { action: `/console${preview}`, values: entered, text }}
        about={entered.id}
      />
    );
    sendPage(res, 'Replayed', page);
  });
}
