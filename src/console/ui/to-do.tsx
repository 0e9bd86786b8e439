import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface ToDoProps {
  title: string;
  /** What needs somebody; false ones are left out. */
  items: readonly ComponentChildren[];
  class?: string;
}

/** What needs somebody, as a list; nothing without any. */
export function ToDo({ title, items, class: name = 'warning' }: ToDoProps) {
  const id = useId();
  const given = items.filter(Boolean);
  if (given.length === 0) return null;
  return (
    <section class={name} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul>
        {given.map((item, index) => (
          <li key={index}>{item}</li>
        ))}
      </ul>
    </section>
  );
}
