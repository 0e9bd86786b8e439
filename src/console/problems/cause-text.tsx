import type { Cause } from '../../store/refusals.ts';
import { hrefTo } from '../ui/links.ts';

/** The list of the deliveries that failed for one cause. */
export const sameCause = (event: string, error: string) =>
  hrefTo('/deliveries', { status: 'failed', event, error });

/** Why a delivery failed, and what to do. */
export function CauseText({ cause }: { cause: Cause }) {
  const { error, meaning, action, fields, definition } = cause;
  if (!meaning) return <>{error}</>;
  return (
    <>
      <strong>{meaning}</strong> {action}
      <br />
      {fields && (
        <>
          Field: <code>{fields}</code>.{' '}
        </>
      )}
      {definition && (
        <>
          Constraint: <code>{definition}</code>.{' '}
        </>
      )}
      <span class="hint">{error}</span>
    </>
  );
}

/** The errors of a rejected body, each with its field. */
export function FaultList({ faults }: { faults: readonly { path: string; message: string }[] }) {
  const shown = faults.slice(0, 5);
  return (
    <>
      {shown.map(({ path, message }) => (
        <div key={path + message}>
          {path && <code>{path}</code>} {message}
        </div>
      ))}
      {faults.length > shown.length && <div>… and {faults.length - shown.length} more</div>}
    </>
  );
}
