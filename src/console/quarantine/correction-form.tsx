import type { BodyField } from '../../intake/correct-fields.ts';
import { Labelled, PostForm, Submit } from '../ui/forms.tsx';
import { Facts, Nothing } from '../ui/values.tsx';

/** A correction that was rejected. */
export interface Attempt {
  message?: string;
  /** By path. */
  faults?: Record<string, string>;
  values?: Record<string, string>;
  /** The whole body as entered. */
  text?: string;
}

interface CorrectionProps {
  /** Where the fields are posted. */
  action: string;
  faulty: readonly BodyField[];
  others: readonly BodyField[];
  attempt?: Attempt | undefined;
  /** Whether every field is shown, and can be corrected. */
  revealed: boolean;
}

const lineLength = 60;

/** A rejected body as a form: what is wrong first, each with what is expected; the other fields in a line that opens. */
export function CorrectionForm({ action, faulty, others, attempt = {}, revealed }: CorrectionProps) {
  const { values = {}, faults = {} } = attempt;
  const input = ({ path, label, hidden, messages, value: received }: BodyField) => {
    const value = values[path] ?? received;
    const rows = Math.ceil(value.length / lineLength);
    const field = { name: path, value, autocomplete: 'off', spellcheck: false } as const;
    return (
      <Labelled
        key={path}
        label={hidden ? `${label} (hidden)` : label}
        fault={faults[path] ?? messages}
        input={(named) =>
          rows > 1 ? (
            <textarea {...named} {...field} rows={rows} />
          ) : (
            <input type="text" {...named} {...field} />
          )
        }
      />
    );
  };
  const shown = others.map(({ label, value, hidden }) => [label, hidden ? '•••' : value || <Nothing />]);
  return (
    <PostForm
      action={action}
      class="card correction"
      label="Correct and replay"
      values={{ revealed: revealed ? 'yes' : undefined }}
    >
      <h2>Correct and replay</h2>
      <p class="hint">
        Values are JSON: a text is in double quotes, a number is not. An empty field is removed; a hidden
        value stays as it is unless you enter another.
      </p>
      {faulty.map(input)}
      {others.length > 0 && (
        <details>
          <summary>Other fields</summary>
          {revealed ? others.map(input) : <Facts facts={Object.fromEntries(shown)} />}
        </details>
      )}
      <div class="actions">
        <Submit>Replay the corrected body</Submit>
      </div>
    </PostForm>
  );
}
