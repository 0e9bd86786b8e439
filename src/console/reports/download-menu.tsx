import { formatNames, formats } from '../../reports/files/formats.ts';
import { useMayPost } from '../ui/context.ts';
import { Hidden } from '../ui/forms.tsx';
import { type AskedForm, reportHref } from './form.ts';

/** The ways to download a report. Those with personal data are posted. */
export function DownloadMenu({ report, columns, filter, entered }: AskedForm) {
  const address = reportHref(report.view);
  const hasPersonal = columns.some(({ personal }) => personal);
  const mayReveal = useMayPost(`${address}/csv`);
  const { patient } = filter;
  const buttons = (words: string, form: object) =>
    formatNames.map((format) => (
      <button key={format} type="submit" class="small second" formaction={`${address}/${format}`} {...form}>
        {formats[format].label}
        {words}
      </button>
    ));
  return (
    <form method={patient ? 'post' : 'get'} action={`${address}/${formatNames[0]}`} class="actions">
      <Hidden values={{ ...entered, patient, page: undefined, columns: undefined }} />
      {!patient && buttons('', {})}
      {hasPersonal && mayReveal && buttons(' with personal data', { formmethod: 'post' })}
    </form>
  );
}
