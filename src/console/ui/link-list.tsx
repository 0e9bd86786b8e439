import type { ComponentChildren } from 'preact';

interface LinkListProps {
  label: string;
  links: readonly { name: string; href: string; current?: boolean }[];
  children?: ComponentChildren;
}

/** Links in a row; the current one is marked. */
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
