import { useId } from 'preact/hooks';
import { PostForm, Submit } from '../ui/forms.tsx';
import { Facts, Nothing } from '../ui/values.tsx';
import type { BodyField } from './form.ts';

export interface Attempt {
  message: string;
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

/** A rejected body as a form: what is wrong first, each with what is expected; the other fields in a line that opens. */
export function CorrectionForm({ action, faulty, others, attempt, revealed }: CorrectionProps) {
  const input = (field: BodyField) => <JsonField key={field.path} {...{ field, attempt }} />;
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

const lineLength = 60;

function JsonField({ field, attempt }: { field: BodyField } & Pick<CorrectionProps, 'attempt'>) {
  const { path, label, hidden, messages, value } = field;
  const id = useId();
  const entered = attempt?.values?.[path] ?? value;
  const fault = attempt?.faults?.[path] ?? messages;
  const described = fault ? { 'aria-invalid': true, 'aria-describedby': `${id}-fault` } : {};
  const common = { id, name: path, autocomplete: 'off', ...described } as const;
  return (
    <div class="field">
      <label for={id}>{hidden ? `${label} (hidden)` : label}</label>
      {entered.length > lineLength ? (
        <textarea
          {...common}
          rows={Math.ceil(entered.length / lineLength)}
          spellcheck={false}
          value={entered}
        />
      ) : (
        <input type="text" {...common} value={entered} />
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
