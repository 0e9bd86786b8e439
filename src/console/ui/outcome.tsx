import type { ComponentChildren } from 'preact';
import type { MessageGroup } from '../../common/message-groups.ts';
import { PostButton } from './forms.tsx';
import { titled } from './links.ts';
import { Table } from './table.tsx';
import { Figures, formatCount, formatCountOf, IdLink } from './values.tsx';

const problems = { address: '/console/problems', back: 'Back to the problems' };

/** What an action is about: its page, and what its rows are called. */
export const sections = {
  deliveries: { ...problems, rows: ['delivery', 'deliveries'] },
  quarantine: { ...problems, rows: ['body', 'bodies'] },
  patients: { address: '/console/patients', back: 'Back to the patients', rows: ['patient', 'patients'] },
} as const;

/** How many rows match, and how many the figures of a preview are about. */
type Covered = Record<'matching' | 'tried', number>;

interface OutcomeProps {
  section: keyof typeof sections;
  covers?: Covered;
  intro?: ComponentChildren;
  figures?: Record<string, number>;
  messages?: readonly MessageGroup[];
  next?: { action: string; values: Record<string, string | undefined>; kind?: string; text: string } | false;
  /** The id of the one delivery or body that it is about. */
  about?: string | undefined;
  /** Whether leaving the page cancels something. */
  isPreview?: boolean;
  children?: ComponentChildren;
}

/** What an action on many rows did, or would do, and how to go on. */
export function Outcome(props: OutcomeProps) {
  const { section, covers, intro, figures, messages = [], next, about, isPreview, children } = props;
  const { address, back, rows } = sections[section];
  const link = section === 'quarantine' ? section : 'deliveries';
  return (
    <>
      {(covers || intro) && (
        <p>
          {covers && coverageOf(covers, rows)}
          {intro}
        </p>
      )}
      {figures && <Figures figures={figures} />}
      <Table
        label="Errors"
        scrolls
        rows={messages}
        columns={[
          { head: 'Error', cell: ({ message }) => message, wide: true },
          { head: titled(rows[1]), cell: ({ count }) => formatCount(count), numeric: true },
          { head: 'Example', cell: ({ example }) => <IdLink to={link} id={example} /> },
        ]}
      />
      {children}
      {about && (
        <p>
          {titled(rows[0])} <IdLink to={link} id={about} />
        </p>
      )}
      <div class="actions">
        {next && <PostButton {...next}>{next.text}</PostButton>}
        <a href={address}>{next && isPreview ? 'Cancel' : back}</a>
      </div>
    </>
  );
}

const coverageOf = ({ matching, tried }: Covered, rows: readonly [string, string]) =>
  `${formatCountOf(matching, rows)} ${matching === 1 ? 'matches' : 'match'}${
    matching > tried && tried > 0 ? `; one replay covers the first ${formatCount(tried)}` : ''
  }. `;
