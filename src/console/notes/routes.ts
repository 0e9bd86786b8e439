import { addNote } from '../../store/notes.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { actorOf } from '../log-access.ts';
import { guid, oneOf, readForm, text } from '../read-form.ts';
import { defineSection } from '../section.ts';

/** Notes and marks of what was seen, on failed deliveries and rejected bodies. */
export const section = defineSection({
  rights: {
    'POST /notes': 'operator',
  },
  addRoutes(routes, { db, logAccess }) {
    routes.post('/notes', async (req, res) => {
      const { data } = readForm(req.body, {
        section: oneOf(['deliveries', 'quarantine']),
        subject: guid,
        text,
      });
      const { section, subject, text: note = '' } = data;
      if (!section || !subject) throw new BadInput('A note is on a delivery or a rejected body.');
      if (!note && !req.body.seen) throw new BadInput('The note is empty.');
      const actor = actorOf(res);
      await db.transaction().execute(async (tx) => {
        const isAdded = await addNote(tx, subject, note, actor.id);
        if (!isAdded) throw new PageNotFound('What the note is about is no longer there.');
        await logAccess({ actor, action: 'note', filter: { [section]: subject }, rows: 1 }, tx);
      });
      res.redirect(303, `/console/${section}/${subject}#notes`);
    });
  },
});
