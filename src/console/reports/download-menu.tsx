import { useContext } from 'preact/hooks';
import type { Asked } from '../../reports/queries.ts';
import { useMayPost, VisitContext } from '../ui/context.ts';
import { Hidden } from '../ui/forms.tsx';
import { formatLocal } from '../ui/time.ts';
import { formatCount, Moment } from '../ui/values.tsx';
import { type ReportForm, reportHref } from './form.ts';
import { formatNames, formats } from './formats.ts';

interface DownloadMenuProps extends Asked, Pick<ReportForm, 'entered'> {
  /** How many there are; undefined: that is not known. */
  rows: number | undefined;
  lastDownload: Date | undefined;
}

// What was being written during the last download is sent again rather than never.
const overlapMs = 5 * 60_000;

/** All ways to download a report. Those with personal data are posted: their logging needs the session's token. */
export function DownloadMenu({ report, columns, filters, entered, rows, lastDownload }: DownloadMenuProps) {
  const { csrf, timezone } = useContext(VisitContext);
  const { page = '1' } = entered;
  const ofPage = { part: undefined, since: undefined, group: undefined, compare: undefined, of: undefined };
  const address = reportHref(report.view);
  const hasPersonal = columns.some(({ personal }) => personal);
  const mayReveal = useMayPost(`${address}/csv`);
  const since = lastDownload && formatLocal(lastDownload.getTime() - overlapMs, timezone).slice(0, 16);
  const buttons = (form: object) =>
    formatNames.map((format) => (
      <button key={format} type="submit" class="small second" formaction={`${address}/${format}`} {...form}>
        {formats[format].label}
      </button>
    ));
  return (
    <details class="download">
      <summary>Download</summary>
      <form method="get" action={`${address}/${formatNames[0]}`} class="card">
        <Hidden values={{ ...entered, ...ofPage, columns: undefined, page }} />
        <fieldset>
          <legend>Rows</legend>
          <Part value="" checked>
            All{rows !== undefined && ` ${formatCount(rows)}`}
          </Part>
          <Part value="page">This page</Part>
          {filters.since && (
            <>
              <Part value="changed">Only what changed since</Part>
              <input type="datetime-local" name="since" value={since} aria-label="Changed since" />
              <p class="hint">
                {lastDownload ? (
                  <>
                    Your last download: <Moment at={lastDownload} />, and five minutes more.
                  </>
                ) : (
                  'The time of your last download appears here.'
                )}
              </p>
            </>
          )}
        </fieldset>
        <p class="actions">{buttons({})}</p>
        {hasPersonal && mayReveal && (
          <p class="actions">
            With personal data (logged): {buttons({ formmethod: 'post', name: 'csrf', value: csrf })}
          </p>
        )}
      </form>
    </details>
  );
}

function Part({
  value,
  checked,
  children,
}: {
  value: string;
  checked?: boolean;
  children: preact.ComponentChildren;
}) {
  return (
    <label>
      <input type="radio" name="part" value={value} checked={checked} /> {children}
    </label>
  );
}
