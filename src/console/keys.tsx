import { useContext } from 'preact/hooks';
import type { Section } from './dependencies.ts';
import { useMayOpen, VisitContext } from './ui/context.ts';
import { sendPage } from './ui/page.tsx';
import { Table } from './ui/table.tsx';

/** The keys of the console, in assets/console/console.js. */
export const section: Section = {
  worksInOutage: true,
  addRoutes(routes) {
    routes.get('/keys', 'viewer', (_req, res) => sendPage(res, 'Keys', <Keys />));
  },
};

function Keys() {
  const { navigation } = useContext(VisitContext);
  const mayOpen = useMayOpen();
  const places = navigation.flatMap(({ entries }) => entries).filter(({ path }) => mayOpen(path));
  const rows: [keys: string, does: string][] = [
    ['/', 'Search; what was searched for is selected'],
    ...places.map(({ key, title }): [string, string] => [`g ${key}`, `Go to ${title}`]),
    ['j', 'Next row of a list'],
    ['k', 'Previous row'],
    ['Enter', 'Open the row'],
    ['?', 'This page'],
  ];
  return (
    <>
      <p>They work outside of fields. For two, press one after the other.</p>
      <Table
        label="Keys"
        small
        rows={rows}
        columns={[
          { head: 'Keys', cell: ([keys]) => keys.split(' ').map((key) => <kbd key={key}>{key}</kbd>) },
          { head: 'What they do', cell: ([, does]) => does },
        ]}
      />
    </>
  );
}
