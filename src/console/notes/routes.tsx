import { addNote, type Note } from '../../store/notes.ts';
import type { Section } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { guid, oneOf, readForm, text } from '../read-form.ts';
import { actorOf, useMayPost } from '../ui/context.ts';
import { EntryForm, PostButton } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/values.tsx';

/** Notes and marks of what was seen, on failed deliveries and rejected bodies. */
export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.post('/notes', 'operator', async (req, res) => {
      const shape = { section: oneOf(['deliveries', 'quarantine']), subject: guid, text };
      const { section, subject, text: note = '' } = readForm(req.body, shape).data;
      if (!section || !subject) throw new BadInput('A note is on a delivery or a rejected body.');
      if (!note && !req.body.seen) throw new BadInput('The note is empty.');
      await db.transaction().execute(async (tx) => {
        const isAdded = await addNote(tx, subject, note, actorOf(res).id);
        if (!isAdded) throw new PageNotFound('What the note is about is no longer there.');
        await logAccess(res, { action: 'note', filter: { [section]: subject }, rows: 1 }, tx);
      });
      res.redirect(303, `/console/${section}/${subject}#notes`);
    });
  },
};

const action = '/console/notes';

interface NotesProps {
  section: 'deliveries' | 'quarantine';
  subject: string;
  notes: readonly Note[];
}

/** Notes with a form to add one. Other roles see only that notes exist. */
export function Notes({ section, subject, notes }: NotesProps) {
  const mayWrite = useMayPost(action);
  if (!mayWrite && notes.length === 0) return null;
  return (
    <section aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      <Table
        label="Notes, oldest first"
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
      <EntryForm
        action={action}
        values={{ section, subject }}
        hint="Without names and numbers of patients. It is deleted with what it is about."
        fields={[{ name: 'text', label: 'New note', required: true, autocomplete: 'off' }]}
        submit="Add note"
        kind="second"
      />
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
