import { useMayPost } from '../ui/context.ts';
import { Field, PostButton, PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/values.tsx';
import type { Note } from './queries.ts';

const action = '/console/notes';

interface NotesProps {
  section: 'deliveries' | 'quarantine';
  /** The delivery or rejected body. */
  subject: string;
  notes: readonly Note[];
}

/** Notes with a form to add one. Who may not write them sees only that there are some. */
export function Notes({ section, subject, notes }: NotesProps) {
  const mayWrite = useMayPost(action);
  if (!mayWrite && notes.length === 0) return null;
  return (
    <section aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      <Table
        label="Notes, oldest first"
        cards
        rows={notes}
        columns={[
          { head: 'Written', cell: ({ created_at }) => <Moment at={created_at} /> },
          { head: 'By', cell: ({ created_by }) => created_by },
          {
            head: 'Note',
            cell: ({ text }) =>
              text === '' ? <em>seen</em> : mayWrite ? text : 'Reading it takes the role operator.',
            wide: true,
          },
        ]}
      />
      <PostForm action={action} values={{ section, subject }} class="card">
        <Field label="New note" name="text" required autocomplete="off" />
        <p class="hint">Without names and numbers of patients. It is deleted with what it is about.</p>
        <div class="actions">
          <Submit kind="second">Add note</Submit>
        </div>
      </PostForm>
      {notes.length === 0 && (
        <div class="actions">
          <PostButton action={action} values={{ section, subject, seen: 'yes' }} kind="second">
            Mark as seen
          </PostButton>
        </div>
      )}
    </section>
  );
}
