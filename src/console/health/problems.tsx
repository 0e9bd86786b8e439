import type { Problem } from '../../health/problem.ts';

/** What is wrong with processing; undefined: it could not be read. */
export function Problems({ problems }: { problems: readonly Problem[] | undefined }) {
  if (!problems) {
    return (
      <section class="warning">
        <h2>What is wrong with processing could not be read</h2>
      </section>
    );
  }
  if (problems.length === 0) return null;
  return (
    <section class="warning" aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <ul>
        {problems.map(({ kind, subject, status, title, detail }) => (
          <li key={`${kind} ${subject}`}>
            <strong class={status === 'fail' ? 'bad' : 'warn'}>{title}</strong>. {detail}
          </li>
        ))}
      </ul>
    </section>
  );
}
