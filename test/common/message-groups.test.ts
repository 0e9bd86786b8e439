import { addMessage, type MessageGroup } from '../../src/common/message-groups.ts';

it('equal messages are one group with a count and the first id, and there are at most 20 groups', () => {
  const groups: MessageGroup[] = [];
  for (let n = 0; n < 60; n += 1) addMessage(groups, `message ${n % 30}`, `id ${n}`);
  expect(groups).toHaveLength(20);
  expect(groups[19]).toEqual({ message: 'message 19', count: 2, example: 'id 19' });
});
