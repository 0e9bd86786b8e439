import { wordsOf } from '../../common/plain-text.ts';
import { uuid } from '../../common/words.ts';
import { describeMatch, search as find, type Hit, type Person, type SearchResult } from '../../inbox/find.ts';
import { choicesOf } from '../../privacy/patient.ts';
import { type Alias, type Aliases, aliasKinds } from '../../reconcile/aliases.ts';
import { hasRole, type Page } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { hrefTo, recordHref, useMay, useVisit, visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatAmount, Moment, Named, Nothing, Phone } from '../ui/values.tsx';
import { RecordLink } from './records.tsx';

export const search: Page = (routes, core) => {
  routes.get('/search', 'viewer', async (req, res) => {
    const { q = '' } = readForm(req.query, { q: text });
    const isPersonal = hasRole(res, 'desk');
    const visit = visitOf(res);
    const reader = { actor: visit.actor, mayNamePeople: isPersonal };
    const result = q ? await find(core, q, reader) : { persons: [], hits: [], isCut: false };
    const places = findPlaces(visit.aliases, q);
    const known = result.persons.flatMap(({ subjects }) => subjects);
    const choices = q && isPersonal ? await choicesOf(core.db, q) : [];
    const others = choices.filter((choice) => !known.includes(choice));
    if (others.length > 0)
      await core.logAccess(res, { action: 'search', subjects: others, rows: others.length });
    const persons: Patient[] = [...result.persons, ...others.map((choice) => ({ subjects: [choice] }))];
    const hrefs = [
      ...persons.map(({ subjects }) => visit.patientHref(subjects)),
      ...result.hits.map((hit) => recordHref(hit.family.name, hit.businessId, hit.id)),
      ...places.map(placeHref),
    ];
    if (hrefs.length === 0 && uuid.test(q)) hrefs.push(hrefTo(`/callbacks/${q}`));
    if (hrefs.length === 1) return res.redirect(303, hrefs[0]!);
    sendPage(res, q ? 'Search' : 'Patients', <Results {...result} {...{ q, persons, places }} />, {
      query: q,
    });
  });
};

const maxPlaces = 10;

function findPlaces(aliases: Aliases, text: string): Alias[] {
  const lists = wordsOf(text.toLowerCase()).filter((words) => words.length > 0);
  const all = aliasKinds.flatMap((kind) => [...aliases[kind]].map(([id, alias]) => ({ kind, id, alias })));
  const isMeant = ({ alias }: Alias) => {
    const own = wordsOf(alias.toLowerCase()).flat().join(' ');
    return lists.some((words) => words.every((word) => own.includes(word)));
  };
  return all.filter(isMeant).slice(0, maxPlaces);
}

const placeHref = ({ kind, id }: Alias) => hrefTo('/receipts', { [kind]: id });

/** Found by an id alone, without a name. */
type Patient = Partial<Person> & Pick<Person, 'subjects'>;

interface ResultsProps extends Omit<SearchResult, 'persons'> {
  q: string;
  persons: readonly Patient[];
  places: readonly Alias[];
}

function Results({ q, persons, hits, places, isCut }: ResultsProps) {
  const isPersonal = useMay('desk');
  const { patientHref } = useVisit();
  const isEmpty = persons.length + hits.length + places.length === 0;
  return (
    <>
      {isEmpty && (
        <p class="empty">
          {q && 'Nothing was found. '}Search by{' '}
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
            ({ subjects, name }) => (
              <a href={patientHref(subjects)}>{name ?? `No name, ${subjects[0]!.slice(2)}`}</a>
            ),
            'at-title',
          ],
          ['Phone', ({ phone }) => <Phone number={phone} />, 'at-note'],
          ['Last', ({ at }) => <Moment at={at} />, 'at-badge'],
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
          ['Record', linkTo, 'at-title'],
          ...(isPersonal ? people : []),
          ['Billed', ({ amount }) => (amount ? formatAmount(amount) : <Nothing />), 'n at-amount'],
          ['Business', ({ businessId }) => <Named kind="business" id={businessId} />],
          ['Newest event', ({ at }) => <Moment at={at} />],
          ['Found by', describeMatch, 'at-badge'],
        ]}
      />
      {isCut && <p class="note">There are more. Search by something more exact.</p>}
    </>
  );
}

const linkTo = ({ family, number, ...hit }: Hit) => (
  <RecordLink {...{ family, ...hit }} row={{ [family.printedNumber ?? '']: number }} />
);

const people: readonly Column<Hit>[] = [
  ['Patient', ({ name }) => name ?? <Nothing />, 'at-note'],
  ['Phone', ({ phone }) => <Phone number={phone} />],
];
