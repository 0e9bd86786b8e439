import { type FoundBy, search as find, type Hit, maxHits, type SearchResult } from '../../inbox/find.ts';
import { hasRole, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { hrefTo, visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { IdLink, Moment, Named, Nothing } from '../ui/values.tsx';
import { Headline, RecordLink } from './records.tsx';

export const search: Page = (routes, core) => {
  routes.get('/search', 'viewer', async (req, res) => {
    const { q = '' } = readForm(req.query, { q: text }).data;
    const mayNamePeople = hasRole(res, 'desk');
    const result = await find(core, q, { actor: visitOf(res).actor, mayNamePeople });
    const [message] = result.messages;
    if (message && result.hits.length === 0)
      return res.redirect(303, hrefTo(`/${placeOf[message.kind]}/${message.id}`));
    sendPage(res, 'Search', <Results {...{ result, mayNamePeople }} />, { query: q });
  });
};

const placeOf = { delivery: 'deliveries', quarantine: 'quarantine' } as const;

const by: Record<FoundBy, string> = {
  id: 'its id',
  number: 'its number',
  mention: 'an id in it',
  phone: 'phone',
  name: 'name',
};

function Results({ result, mayNamePeople }: { result: SearchResult; mayNamePeople: boolean }) {
  const { hits, messages, isCut } = result;
  const people = [
    { head: 'Name', cell: ({ name }: Hit) => name ?? <Nothing /> },
    { head: 'Phone', cell: ({ phone }: Hit) => phone ?? <Nothing /> },
  ];
  return (
    <>
      {messages.map(({ kind, id }) => (
        <p key={kind}>
          {kind === 'delivery' ? 'Delivery' : 'Rejected body'} <IdLink to={placeOf[kind]} id={id} />
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
