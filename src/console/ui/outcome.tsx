import type { ComponentChildren } from 'preact';
import type { MessageGroup } from '../../common/message-groups.ts';
import { PostButton } from './forms.tsx';
import { titled } from './links.ts';
import { Table } from './table.tsx';
import { Figures, formatCount, formatCountOf, IdLink } from './values.tsx';

const sections = {
  failed: {
    back: 'Back to failed deliveries',
    rows: ['delivery', 'deliveries'],
    messages: 'Errors of those that fail again',
    link: 'deliveries',
  },
  quarantine: {
    back: 'Back to the quarantine',
    rows: ['body', 'bodies'],
    messages: 'Why some are still rejected',
    link: 'quarantine',
  },
  patients: { back: 'Back to the patients', rows: ['patient', 'patients'], messages: '', link: 'deliveries' },
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
  /** Whether leaving the page cancels something. */
  isPreview?: boolean;
  children?: ComponentChildren;
}

export interface ReplayProps<Result> {
  /** `matching`: how many rows match the filter. */
  outcome: Result & { matching: number };
  /** The form's fields, to be sent again. */
  values: Record<string, string>;
}

/** What an action on many rows did, or would do, and how to go on. */
export function Outcome(props: OutcomeProps) {
  const { section, covers, intro, figures, messages = [], next, isPreview, children } = props;
  const { back, rows, messages: label, link } = sections[section];
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
        label={label}
        scrolls
        rows={messages}
        columns={[
          { head: 'Error', cell: ({ message }) => message, wide: true },
          { head: titled(rows[1]), cell: ({ count }) => formatCount(count), numeric: true },
          { head: 'Example', cell: ({ example }) => <IdLink to={link} id={example} /> },
        ]}
      />
      {children}
      <div class="actions">
        {next && <PostButton {...next}>{next.text}</PostButton>}
        <a href={`/console/${section}`}>{next && isPreview ? 'Cancel' : back}</a>
      </div>
    </>
  );
}

const coverageOf = ({ matching, tried }: Covered, rows: readonly [string, string]) =>
  `${formatCountOf(matching, rows)} ${matching === 1 ? 'matches' : 'match'}${
    matching > tried && tried > 0 ? `; one replay covers the first ${formatCount(tried)}` : ''
  }. `;
