import { describeMatch, search as find, type Hit, type SearchResult } from '../../inbox/find.ts';
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
        label="Records: printed numbers, then ids, then the newest event"
        rows={hits}
        empty={
          mayNamePeople
            ? 'Nothing was found. Search by the number on a receipt or its last digits, an id, a whole phone number, or words of a name.'
            : 'Nothing was found. Search by the number on a receipt or its last digits, or by an id; names, phones and patients take the role desk.'
        }
        columns={[
          { head: 'Record', cell: (hit) => <RecordLink {...hit} /> },
          { head: 'What', cell: ({ family, row }) => row && <Headline {...{ family, row }} />, wide: true },
          ...(mayNamePeople ? people : []),
          { head: 'Business', cell: ({ businessId }) => <Named kind="business" id={businessId} /> },
          { head: 'Newest event', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Found by', cell: describeMatch },
        ]}
      />
      {isCut && <p class="note">There are more. Search by something more exact.</p>}
    </>
  );
}
