import type { ComponentChildren } from 'preact';
import { useMayPost } from './context.ts';
import { PostButton } from './forms.tsx';

interface PersonalProps {
  revealed: boolean;
  /** The page's address; below it, `/personal` shows its personal data. */
  address: string;
}

type ShowProps = PersonalProps & { values?: Record<string, string | undefined>; what?: string };

/** The button that shows what a page hides. */
export function ShowPersonal({ revealed, address, values = {}, what = 'personal data' }: ShowProps) {
  if (revealed) return null;
  return (
    <PostButton action={`${address}/personal`} values={values} kind="second">
      Show {what}
    </PostButton>
  );
}

type NoteProps = PersonalProps & { hiddenAt?: string; takes?: string; children: ComponentChildren };

/** Says that a page shows personal data; where it does not, the text inside, and what showing it takes. */
export function PersonalNote({
  revealed,
  address,
  hiddenAt = address,
  takes = 'privacy',
  children,
}: NoteProps) {
  const mayShow = useMayPost(`${address}/personal`);
  if (!revealed)
    return (
      <p class="note">
        {children} {mayShow ? 'Showing it is logged.' : `Showing it takes the role ${takes}.`}
      </p>
    );
  return (
    <p class="note">
      This page shows personal data; showing it was logged. <a href={hiddenAt}>Hide it</a>
    </p>
  );
}
