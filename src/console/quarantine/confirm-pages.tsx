import type { QuarantineOutcome } from '../../intake/replay-quarantine.ts';
import { Outcome, type ReplayProps } from '../ui/outcome.tsx';
import { formatCountOf } from '../ui/values.tsx';

const bodies = (count: number) => formatCountOf(count, ['body', 'bodies']);

export function ConfirmReplay({ outcome, values }: ReplayProps<QuarantineOutcome>) {
  const { matching, accepted, notStored, rejected, reasons } = outcome;
  const tried = accepted + notStored + rejected;
  const text = `Replay ${bodies(tried - rejected)}`;
  return (
    <Outcome
      section="quarantine"
      isPreview
      covers={{ matching, tried }}
      intro="Validated with the current schemas; nothing was stored:"
      figures={{
        'Would be accepted': accepted,
        ...(notStored > 0 && { 'Would not be stored': notStored }),
        'Would still be rejected': rejected,
      }}
      messages={reasons}
      next={accepted > 0 && { action: '/console/quarantine/replay', values, text }}
    >
      {accepted === 0 && (
        <p>
          A replay would accept nothing.{' '}
          {tried === 0 && 'Of a body that was corrected, only the correction can be replayed. '}
          {rejected > 0 && 'Bodies that are still rejected can be corrected on their pages. '}
          {notStored > 0 && 'What would not be stored is past its retention: it can be dropped.'}
        </p>
      )}
    </Outcome>
  );
}

export function ReplayDone({ outcome }: Pick<ReplayProps<QuarantineOutcome>, 'outcome'>) {
  const { accepted, duplicates, notStored, rejected, reasons } = outcome;
  return (
    <Outcome
      section="quarantine"
      figures={{
        Accepted: accepted,
        'Of these, duplicates': duplicates,
        ...(notStored > 0 && { 'Not stored': notStored }),
        'Still rejected': rejected,
      }}
      messages={reasons}
    >
      <p>The worker applies the accepted deliveries.</p>
    </Outcome>
  );
}

export function ConfirmDrop({ count, values }: { count: number; values: Record<string, string> }) {
  const drop = { action: '/console/quarantine/drop', values, kind: 'danger', text: `Drop ${bodies(count)}` };
  const intro = `${bodies(count)} would be deleted permanently. Unless the sender resends them, their data is lost.`;
  return <Outcome section="quarantine" isPreview intro={intro} next={count > 0 && drop} />;
}

export const DropDone = ({ count }: { count: number }) => (
  <Outcome section="quarantine" intro={`${bodies(count)} dropped.`} />
);
