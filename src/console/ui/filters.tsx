import type { ComponentChildren } from 'preact';
import { words } from '../../common/words.ts';
import { isAliasKind } from '../../reconcile/aliases.ts';
import type { Form } from '../read-form.ts';
import { useVisit } from './context.ts';
import { Fields, type FormField, Hidden, Submit } from './forms.tsx';

interface FiltersProps extends Form {
  action: string;
  hidden?: Record<string, string | undefined>;
  folded?: boolean;
  children?: ComponentChildren;
}

export function Filters(props: FiltersProps) {
  const { action, fields, entered, faults, hidden = {}, folded = false, children } = props;
  const { aliases } = useVisit();
  const nameOf = (value: string, { kind, options }: FormField) =>
    (isAliasKind(kind) && aliases?.[kind].get(value)) || (options ? words(value) : value);
  const chosen = fields.flatMap((field) => {
    const value = entered[field.name];
    return value ? [`${field.label.toLowerCase()} ${nameOf(value, field)}`] : [];
  });
  const showAll = chosen.length > 0 && <a href={action}>Show all</a>;
  const form = (
    <form method="get" action={action} class={folded ? 'filters' : 'filters card'}>
      <Hidden values={hidden} />
      <Fields {...{ fields, entered, faults }} />
      <div class="actions">
        <Submit>Show</Submit>
        {!folded && showAll}
      </div>
    </form>
  );
  return (
    <>
      <a class="skip" href="#list">
        Skip the filters
      </a>
      {folded ? (
        <>
          <details class="card" open={Object.keys(faults).length > 0}>
            <summary>Filter{chosen.length > 0 && `: ${chosen.join(', ')}`}</summary>
            {form}
          </details>
          {showAll && <p class="actions">{showAll}</p>}
        </>
      ) : (
        form
      )}
      {children}
      <div id="list" tabindex={-1} />
    </>
  );
}

interface LinkListProps {
  label: string;
  links: readonly { name: string; href: string; current?: boolean }[];
  children?: ComponentChildren;
}

export function LinkList({ label, links, children }: LinkListProps) {
  return (
    <nav class="actions" aria-label={label}>
      {links.map(({ name, href, current }) => (
        <a key={href} href={href} aria-current={current ? 'true' : undefined}>
          {name}
        </a>
      ))}
      {children}
    </nav>
  );
}
