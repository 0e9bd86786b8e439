import { addMessage, type MessageGroup } from '../src/message-groups.ts';

it('equal messages are counted together with the first id, and at most 20 different ones are kept', () => {
  const groups: MessageGroup[] = [];
  for (let n = 0; n < 60; n += 1) addMessage(groups, `message ${n % 30}`, `id ${n}`);
  expect(groups).toHaveLength(20);
  expect(groups[19]).toEqual({ message: 'message 19', count: 2, example: 'id 19' });
});
