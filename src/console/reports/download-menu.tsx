import { Hidden } from '../ui/forms.tsx';
import { formatNames, formats } from './files/formats.ts';
import { type AskedForm, reportHref } from './form.ts';

/** The ways to download a report. */
export function DownloadMenu({ report, entered }: AskedForm) {
  const address = reportHref(report.view);
  return (
    <form method="get" action={`${address}/${formatNames[0]}`} class="actions">
      <Hidden values={{ ...entered, page: undefined, columns: undefined }} />
      {formatNames.map((format) => (
        <button key={format} type="submit" class="small second" formaction={`${address}/${format}`}>
          {formats[format].label}
        </button>
      ))}
    </form>
  );
}
