import {
  describeMatch,
  search as find,
  type Hit,
  type Message,
  type Place,
  type SearchResult,
} from '../../inbox/find.ts';
import { hasRole, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { hrefTo, recordHref, useVisit, visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Amount, Moment, Named, Nothing, Phone } from '../ui/values.tsx';
import { RecordLink } from './records.tsx';

export const search: Page = (routes, core) => {
  routes.get('/search', 'viewer', async (req, res) => {
    const { q = '' } = readForm(req.query, { q: text });
    const isPersonal = hasRole(res, 'desk');
    const visit = visitOf(res);
    const result = await find(core, q, { actor: visit.actor, mayNamePeople: isPersonal });
    const hrefs = [
      ...result.persons.map(({ subjects }) => visit.patientHref(subjects)),
      ...result.hits.map((hit) => recordHref(hit.family.name, hit.businessId, hit.id)),
      ...result.messages.map(messageHref),
      ...result.places.map(placeHref),
    ];
    if (hrefs.length === 1) return res.redirect(303, hrefs[0]!);
    sendPage(res, 'Search', <Results {...{ result, isPersonal }} />, { query: q });
  });
};

const messageHref = ({ kind, id }: Message) =>
  hrefTo(`/${kind === 'delivery' ? 'callbacks' : 'rejected'}/${id}`);
const placeHref = ({ kind, id }: Place) => hrefTo('/receipts', { [kind]: id });

function Results({ result, isPersonal }: { result: SearchResult; isPersonal: boolean }) {
  const { persons, hits, messages, places, isCut } = result;
  const { patientHref } = useVisit();
  const isEmpty = persons.length + hits.length + messages.length + places.length === 0;
  return (
    <>
      {isEmpty && (
        <p class="empty">
          Nothing was found. Search by{' '}
          {isPersonal ? 'words of a name, the last four digits of a phone, ' : ''}the number on a receipt or
          its end, an id, a doctor or a clinic.{!isPersonal && ' Patients take the role desk.'}
        </p>
      )}
      <Table
        label="Patients"
        heading
        rows={persons}
        columns={[
          [
            'Name',
            (person) => <a href={patientHref(person.subjects)}>{person.name ?? 'No name'}</a>,
            'at-title',
          ],
          ['Phone', ({ phone }) => <Phone number={phone} />, 'at-note'],
          ['Last', ({ last }) => <Moment at={last} />, 'at-badge'],
        ]}
      />
      {places.map((place) => (
        <p key={place.id}>
          <a href={placeHref(place)}>{place.alias}</a>, {place.kind}
        </p>
      ))}
      <Table
        label="Receipts and other records"
        heading
        rows={hits}
        columns={[
          ['Record', (hit) => <RecordLink {...hit} />, 'at-title'],
          ...(isPersonal ? people : []),
          ['Billed', ({ row }) => <Amount value={row?.net_amount} />, 'n at-amount'],
          ['Business', ({ businessId }) => <Named kind="business" id={businessId} />],
          ['Newest event', ({ at }) => <Moment at={at} />],
          ['Found by', describeMatch, 'at-badge'],
        ]}
      />
      {messages.map((message) => (
        <p key={message.kind}>
          <a href={messageHref(message)}>
            {message.kind === 'delivery' ? 'The callback with this id' : 'The rejected message with this id'}
          </a>
        </p>
      ))}
      {isCut && <p class="note">There are more. Search by something more exact.</p>}
    </>
  );
}

const people: readonly Column<Hit>[] = [
  ['Patient', ({ name }) => name ?? <Nothing />, 'at-note'],
  ['Phone', ({ phone }) => <Phone number={phone} />],
];
