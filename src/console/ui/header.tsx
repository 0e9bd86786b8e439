import { assetUrl } from '../assets.ts';
import { countLimit } from '../reports/read.ts';
import { type Entry, type Group, hrefTo, type Problems, useMayOpen, useVisit } from './context.ts';
import { PostForm, Submit } from './forms.tsx';
import { formatCount } from './values.tsx';

/** The entry that a page belongs to: the one with the longest path that the page is at or below. */
export function findEntry(groups: readonly Group[], path: string): Entry | undefined {
  const places = groups.flatMap(({ entries }) =>
    entries.flatMap((entry) => [entry.path, ...(entry.also ?? [])].map((at) => ({ entry, at }))),
  );
  return places
    .filter(({ at }) => path === at || path.startsWith(`${at}/`))
    .toSorted((one, other) => other.at.length - one.at.length)[0]?.entry;
}

/** What every page begins with: search, the user's menu, and the navigation, which is a menu on a narrow screen. */
export function Header({ current, query }: { current: Entry | undefined; query: string | undefined }) {
  const { navigation, actor, roles, problems } = useVisit();
  const mayOpen = useMayOpen();
  return (
    <header class="bar">
      <a class="brand" href="/console" aria-label="Webhook receiver">
        <img src={assetUrl('icon.svg')} alt="" width="24" height="24" /> <span>Webhook receiver</span>
      </a>
      <search>
        <form action="/console/search" method="get">
          <label class="unseen" for="search">
            Search
          </label>
          <input
            id="search"
            name="q"
            type="search"
            value={query}
            placeholder="Search: receipt, id, phone, name"
            autocomplete="off"
            aria-keyshortcuts="/"
          />
          <button type="submit" class="unseen" tabindex={-1}>
            Search
          </button>
        </form>
      </search>
      <details class="menu">
        <summary>Menu</summary>
      </details>
      <details class="user">
        <summary>
          {actor.name ?? actor.id} <span>{roles.join(', ')}</span>
        </summary>
        <div class="popup">
          {mayOpen('/sessions') && <a href="/console/sessions">Sessions</a>}
          <PostForm action="/console/sign-out">
            <Submit kind="quiet">Sign out</Submit>
          </PostForm>
        </div>
      </details>
      <nav aria-label="Sections">
        {navigation.map(({ title, entries }) => (
          <ul key={title} aria-label={title}>
            {entries
              .filter(({ path }) => mayOpen(path))
              .map((entry) => (
                <li key={entry.path}>
                  <a href={hrefTo(entry.path)} aria-current={entry === current ? 'page' : undefined}>
                    {entry.title}
                    {entry.counted && problems && <ProblemCount problems={problems} of={entry.counted} />}
                  </a>
                </li>
              ))}
          </ul>
        ))}
      </nav>
    </header>
  );
}

function ProblemCount({ problems, of }: { problems: Problems; of: true | keyof Problems }) {
  const count = of === true ? problems.failed + problems.quarantine : problems[of];
  if (count === 0) return null;
  return (
    <span class="count"> {count > countLimit ? `${formatCount(countLimit)}+` : formatCount(count)}</span>
  );
}
