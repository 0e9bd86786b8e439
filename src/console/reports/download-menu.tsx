import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { formatLocal } from '../../common/times.ts';
import { formatNames, formats } from '../../reports/files/formats.ts';
import { useMayPost, VisitContext } from '../ui/context.ts';
import { Hidden } from '../ui/forms.tsx';
import { formatCount, Moment } from '../ui/values.tsx';
import { type AskedForm, reportHref } from './form.ts';

interface DownloadMenuProps extends AskedForm {
  /** Whether the page has sums of groups instead of rows. */
  ofGroups?: boolean;
  /** How many there are; undefined: that is not known. */
  rows?: number | undefined;
  lastDownload?: Date | undefined;
}

// What was being written during the last download is sent again rather than never.
const overlapMs = 5 * 60_000;

/** All ways to download a report. Those with personal data are posted. */
export function DownloadMenu(props: DownloadMenuProps) {
  const { report, columns, filters, filter, grouped, entered, ofGroups = false, rows, lastDownload } = props;
  const { timezone } = useContext(VisitContext);
  const address = reportHref(report.view);
  const hasPersonal = columns.some(({ personal }) => personal);
  const mayReveal = useMayPost(`${address}/csv`);
  const since = lastDownload && formatLocal(lastDownload.getTime() - overlapMs, timezone).slice(0, 16);
  const { patient } = filter;
  const buttons = (form: object) =>
    formatNames.map((format) => (
      <button key={format} type="submit" class="small second" formaction={`${address}/${format}`} {...form}>
        {formats[format].label}
      </button>
    ));
  return (
    <details class="download">
      <summary>Download</summary>
      <form method={patient ? 'post' : 'get'} action={`${address}/${formatNames[0]}`} class="card">
        <Hidden
          values={{ page: '1', ...entered, patient, part: undefined, since: undefined, columns: undefined }}
        />
        <fieldset>
          <legend>Rows</legend>
          {(grouped.group || grouped.earlier) && (
            <Part value="groups" checked={ofGroups}>
              The sums{grouped.group ? ` by ${grouped.group}` : ', compared'}
            </Part>
          )}
          <Part value="" checked={!ofGroups}>
            All{rows === undefined ? ' rows' : ` ${formatCount(rows)}`}
          </Part>
          {!ofGroups && <Part value="page">This page</Part>}
          {!ofGroups && filters.since && (
            <Part value="changed">Only what changed since your last download</Part>
          )}
        </fieldset>
        {!patient && <p class="actions">{buttons({})}</p>}
        {hasPersonal && mayReveal && (
          <p class="actions">With personal data (logged): {buttons({ formmethod: 'post' })}</p>
        )}
        {!ofGroups && filters.since && (
          <label class="hint">
            {lastDownload ? (
              <>
                Your last download: <Moment at={lastDownload} />. Changed since five minutes before:
              </>
            ) : (
              'You have not downloaded this lately. Changed since:'
            )}
            <input type="datetime-local" name="since" value={since} />
          </label>
        )}
      </form>
    </details>
  );
}

function Part(props: { value: string; checked?: boolean; children: ComponentChildren }) {
  return (
    <label>
      <input type="radio" name="part" value={props.value} checked={props.checked} /> {props.children}
    </label>
  );
}
