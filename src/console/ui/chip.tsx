import { titled } from '../../common/words.ts';
import { hrefTo, type Values } from './context.ts';
import { Field, type FormField, Hidden } from './forms.tsx';

export interface Filter {
  /** The field of the address that its choices set. */
  name: string;
  label?: string;
  choices?: readonly (readonly [value: string, title: string])[];
  /** What is typed in place of a choice. */
  fields?: readonly FormField[];
  /** Shown in place of the title of what is chosen. */
  chosen?: string | undefined;
}

interface ChipProps extends Filter {
  /** The path of the page, below /console; `entered` is the rest of its address. */
  path: string;
  entered: Values;
}

/** A filter: closed, it shows what is chosen; open, what can be. */
export function Chip({
  path,
  entered,
  name,
  label = titled(name),
  choices = [],
  fields = [],
  chosen,
}: ChipProps) {
  const names = [name, ...fields.map((field) => field.name)];
  const without = { ...entered, ...Object.fromEntries(names.map((field) => [field, undefined])) };
  const value = entered[name];
  const shown = chosen ?? choices.find(([choice]) => choice === value)?.[1] ?? value;
  return (
    <span class={shown ? 'chip on' : 'chip'}>
      <details name="chips">
        <summary>
          {shown ? <span class="unseen">{label}: </span> : label}
          {shown}
        </summary>
        <div class="popup">
          <ul>
            {choices.map(([choice, title]) => (
              <li key={choice}>
                <a
                  href={hrefTo(path, { ...without, [name]: choice })}
                  aria-current={choice === value ? 'true' : undefined}
                >
                  {title}
                </a>
              </li>
            ))}
          </ul>
          {fields.length > 0 && (
            <form method="get" action={hrefTo(path)}>
              <Hidden values={without} />
              {fields.map((field) => (
                <Field key={field.name} {...field} value={entered[field.name]} />
              ))}
              <button type="submit">Show</button>
            </form>
          )}
        </div>
      </details>
      {names.some((name) => entered[name]) && (
        <a href={hrefTo(path, without)} aria-label={`Remove the filter ${label}`}>
          ×
        </a>
      )}
    </span>
  );
}
