import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Role } from '../../common/config/value-types.ts';
import { useMay, type Values } from './context.ts';

interface PostFormProps {
  action: string;
  /** The least role that may post it; it is shown to no other user. */
  least: Role;
  /** Hidden fields; undefined ones are left out. */
  values?: Values;
  class?: string | undefined;
  label?: string | undefined;
  children?: ComponentChildren;
}

export function PostForm({ action, least, values = {}, children, class: name, label }: PostFormProps) {
  if (!useMay(least)) return null;
  return (
    <form method="post" action={action} class={name} aria-label={label}>
      <Hidden values={values} />
      {children}
    </form>
  );
}

export function PostButton({ text, ...form }: PostFormProps & { text: string }) {
  return (
    <PostForm {...form}>
      <button type="submit">{text}</button>
    </PostForm>
  );
}

export function Hidden({ values }: { values: Values }) {
  const filled = Object.entries(values).filter(([, value]) => value !== undefined);
  return filled.map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />);
}

export interface FormField {
  name: string;
  label: string;
  required?: boolean;
  autocomplete?: string;
  type?: 'text' | 'password' | 'date';
  value?: string | undefined;
}

/** An input with its label. Its id is no other's: two forms of a page may have fields of one name. */
export function Field({ label, type = 'text', ...field }: FormField) {
  const id = useId();
  return (
    <div>
      <label for={id}>{label}</label>
      <input {...field} id={id} type={type as 'text'} />
    </div>
  );
}
