import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useContext } from 'preact/hooks';
import type { AliasKind } from '../../store/aliases.ts';
import { useMayPost, VisitContext } from './context.ts';

interface PostFormProps {
  action: string;
  /** Hidden fields; undefined ones are left out. */
  values?: Record<string, string | undefined>;
  class?: string;
  children: ComponentChildren;
}

/** A form that is posted, with the session's token. It is shown to users only who may post it. */
export function PostForm({ action, values = {}, children, class: name }: PostFormProps) {
  const { csrf } = useContext(VisitContext);
  if (!useMayPost(action)) return null;
  return (
    <form method="post" action={action} class={name}>
      <input type="hidden" name="csrf" value={csrf} />
      <Hidden values={values} />
      {children}
    </form>
  );
}

/** A button that posts a form of hidden fields. */
export function PostButton({ kind, children, ...form }: PostFormProps & { kind?: string }) {
  return (
    <PostForm {...form}>
      <Submit kind={kind}>{children}</Submit>
    </PostForm>
  );
}

/** Hidden fields. */
export function Hidden({ values }: { values: Record<string, string | undefined> }) {
  return (
    <>
      {Object.entries(values).map(
        ([name, value]) =>
          value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
    </>
  );
}

interface FieldProps {
  label: string;
  name: string;
  value?: string | undefined;
  fault?: string | undefined;
  type?: string;
  required?: boolean;
  autocomplete?: string;
  /** The id of a list of values. */
  list?: string;
}

/** A labelled field, with its error. */
export function Field({ label, fault, ...input }: FieldProps) {
  const { name } = input;
  const described = fault ? { 'aria-invalid': true, 'aria-describedby': `${name}-fault` } : {};
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <input id={`field-${name}`} {...(input as InputHTMLAttributes)} {...described} />
      {fault && (
        <p class="fault" id={`${name}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

/** A field for the id of a business, a clinic or a doctor, with a list of those that have an alias. */
export function AliasField({ kind, ...field }: FieldProps & { kind: AliasKind }) {
  const { aliases } = useContext(VisitContext);
  const list = `list-${field.name}`;
  return (
    <>
      <Field {...field} list={list} autocomplete="off" />
      <datalist id={list}>
        {Array.from(aliases?.[kind] ?? [], ([id, alias]) => (
          <option key={id} value={id} label={alias} />
        ))}
      </datalist>
    </>
  );
}

interface ChoiceProps {
  label: string;
  name: string;
  value?: string | undefined;
  options: readonly string[];
  /** The choice of none; false: there is no such choice. */
  any?: string | false | undefined;
}

/** A labelled list to choose from. */
export function Choice({ label, name, value = '', options, any = 'any' }: ChoiceProps) {
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <select id={`field-${name}`} name={name}>
        {any && <option value="">{any}</option>}
        {options.map((option) => (
          <option key={option} value={option} selected={option === value}>
            {option.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Submits its form. `kind` is its style; the main action of a page has none. */
export function Submit({ kind, children }: { kind?: string | undefined; children: ComponentChildren }) {
  return (
    <button type="submit" class={kind}>
      {children}
    </button>
  );
}
