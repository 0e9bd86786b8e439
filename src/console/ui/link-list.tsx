import type { ComponentChildren } from 'preact';

interface Link {
  name: string;
  href: string;
  current?: boolean;
}

/** Links in a row; the current one is marked. */
export function LinkList({
  label,
  links,
  children,
}: {
  label: string;
  links: readonly Link[];
  children?: ComponentChildren;
}) {
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
