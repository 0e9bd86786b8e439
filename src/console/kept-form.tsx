import type { Request, Response } from 'express';
import { Forbidden } from './errors.ts';
import type { Visit } from './ui/context.ts';
import { PostForm, Submit } from './ui/forms.tsx';
import { titled } from './ui/links.ts';
import { sendPage } from './ui/page.tsx';
import { Table } from './ui/table.tsx';

export type Entry = [name: string, value: string];

/** The fields of a posted form, without the token of its session. */
export function entriesOf(body: unknown): Entry[] {
  const { csrf: _, ...fields } = (body ?? {}) as Record<string, unknown>;
  return Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().flatMap((one): Entry[] => (typeof one === 'string' ? [[name, one]] : [])),
  );
}

function Kept({ entries }: { entries: readonly Entry[] }) {
  return entries.map(([name, value], index) => <input key={index} type="hidden" name={name} value={value} />);
}

/**
 * A form that was posted without a session, to be posted again after the next sign-in. It has no token yet, so that it
 * cannot change anything: whoever posts it gets `sendConfirmation`.
 */
export function KeptForm({ action, entries }: { action: string; entries: readonly Entry[] }) {
  return (
    <form method="post" action={action} class="card">
      <h2>Your session has ended</h2>
      <p>
        Nothing was done. What you entered is kept on this page: sign in below, which opens another tab, then
        come back and continue.
      </p>
      <Kept entries={entries} />
      <Submit>Continue</Submit>
    </form>
  );
}

/**
 * Shows what was posted with the token of another session, to be confirmed in this one. Nothing is done before.
 *
 * @throws Forbidden if the user may not post such a form
 */
export function sendConfirmation(req: Request, res: Response): void {
  const action = req.baseUrl + req.path;
  const { may, role } = res.locals.visit as Visit;
  if (!may(role, 'POST', action)) throw new Forbidden();
  const entries = entriesOf(req.body);
  const content = (
    <>
      <p>This was entered in a session that has ended. Nothing was done yet.</p>
      <Table
        label="What was entered"
        columns={[
          { head: 'Field', cell: ([name]) => titled(name), rowHead: true },
          { head: 'Value', cell: ([, value]) => value, wide: true },
        ]}
        rows={entries.filter(([, value]) => value !== '')}
        small
      />
      <PostForm action={action} class="actions">
        <Kept entries={entries} />
        <Submit>Send it now</Submit>
      </PostForm>
    </>
  );
  sendPage(res, 'Confirm', content, { status: 409 });
}
