import { type FoundBy, search as find, maxHits, type SearchResult } from '../../inbox/find.ts';
import { hasRole, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { IdLink, Moment, Named, Nothing } from '../ui/values.tsx';
import { Headline, RecordLink } from './records.tsx';

/** Finds records by ids, names and phones, and messages by their ids. */
export const search: Page = (routes, core) => {
  routes.get('/search', 'viewer', async (req, res) => {
    const { q = '' } = readForm(req.query, { q: text }).data;
    const mayNamePeople = hasRole(res, 'desk');
    const found = await find(core, q, { actor: visitOf(res).actor, mayNamePeople });
    const [message] = found.messages;
    if (message && found.hits.length === 0)
      return res.redirect(
        303,
        `/console/${message.kind === 'delivery' ? 'deliveries' : 'quarantine'}/${message.id}`,
      );
    sendPage(res, 'Search', <Found {...{ found, mayNamePeople }} />, { query: q });
  });
};

const by: Record<FoundBy, string> = {
  id: 'its id',
  number: 'its number',
  mention: 'an id in it',
  phone: 'phone',
  name: 'name',
};

function Found({ found, mayNamePeople }: { found: SearchResult; mayNamePeople: boolean }) {
  const { hits, messages, isCut } = found;
  const people = [
    { head: 'Name', cell: ({ name }: (typeof hits)[number]) => name ?? <Nothing /> },
    { head: 'Phone', cell: ({ phone }: (typeof hits)[number]) => phone ?? <Nothing /> },
  ];
  return (
    <>
      {messages.map(({ kind, id }) => (
        <p key={kind}>
          {kind === 'delivery' ? 'Delivery' : 'Rejected body'}{' '}
          <IdLink to={kind === 'delivery' ? 'deliveries' : 'quarantine'} id={id} />
        </p>
      ))}
      <Table
        label="Records, the newest event first"
        rows={hits}
        empty={
          mayNamePeople
            ? 'Nothing was found. Search by an id, the number on a receipt, a whole phone number, or words of a name.'
            : 'Nothing was found. Search by an id or the number on a receipt; names, phones and patients take the role desk.'
        }
        columns={[
          { head: 'Record', cell: (hit) => <RecordLink {...hit} /> },
          { head: 'What', cell: ({ family, row }) => row && <Headline {...{ family, row }} />, wide: true },
          ...(mayNamePeople ? people : []),
          { head: 'Business', cell: ({ businessId }) => <Named kind="business" id={businessId} /> },
          { head: 'Newest event', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Found by', cell: (hit) => by[hit.by] },
        ]}
      />
      {isCut && <p class="note">These are {maxHits} of more. Search by something more exact.</p>}
    </>
  );
}
