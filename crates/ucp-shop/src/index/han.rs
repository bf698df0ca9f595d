//! Traditional Chinese characters, as simplified ones: those of goods, and of what is said about them.

/// Characters, each behind its traditional form.
const PAIRS: &str = "\
    機机電电車车門门飛飞馬马魚鱼鳥鸟麵面麥麦齊齐齒齿龍龙頭头顏颜風风飯饭飲饮館馆髮发鬆松鞏巩韓韩響响頂顶項项順顺須须預预領领題题類类願愿\
    顧顾養养餐餐騎骑驗验鮮鲜鹽盐麗丽點点黨党鼓鼓隊队陽阳階阶際际難难雙双離离電电雲云雞鸡靜静靈灵韻韵頁页鐵铁鐘钟鏡镜鎖锁錶表錢钱鋼钢錄录\
    鍋锅鍵键針针釘钉銀银銅铜鋁铝鈴铃鉛铅鉗钳銷销鎚锤鏈链鑽钻長长開开間间閃闪閱阅關关闊阔陸陆陰阴隨随險险隱隐雜杂農农辦办邊边遊游運运過过\
    達达違违遠远適适選选還还郵邮鄉乡醫医釀酿釋释裡里製制複复褲裤襯衬襪袜襲袭見见規规視视親亲覺觉觀观計计訂订記记訊讯設设許许註注詞词試试\
    話话該该詳详語语誤误說说課课調调談谈請请論论諾诺謝谢識识譜谱護护讀读變变讓让豐丰貓猫財财貨货販贩責责貴贵買买費费貼贴賀贺資资賓宾賞赏\
    賣卖質质購购贈赠趕赶跡迹踐践蹤踪軌轨軍军軟软較较載载輕轻輛辆輪轮輸输轉转農农連连週周進进紅红紙纸級级紗纱純纯細细終终組组結结給给統统\
    絲丝絨绒經经綠绿維维網网綿绵線线緊紧緞缎編编緩缓緣缘縫缝總总績绩織织繩绳繪绘繼继續续纖纤罐罐罰罚羅罗義义習习聖圣聞闻聯联聰聪聲声職职\
    聽听肅肃脫脱腦脑腳脚膚肤膠胶臉脸臨临舊旧舉举艙舱蓋盖蓮莲蔥葱蔔卜薑姜薦荐藍蓝藝艺藥药蘆芦蘇苏蘋苹蘭兰蘿萝處处號号蟲虫蝦虾蠟蜡衛卫衝冲\
    補补裝装襖袄覆覆壺壶壽寿夠够夢梦夾夹奧奥婦妇媽妈孫孙學学實实寬宽審审寫写寵宠寶宝將将專专對对導导屆届屬属島岛嶺岭帳帐帶带幣币幫帮幹干\
    幾几庫库廁厕廚厨廠厂廣广廳厅張张強强彈弹彎弯後后徑径從从復复徵征恆恒愛爱態态慣惯慮虑憶忆應应懷怀懸悬戰战戲戏戶户掃扫掛挂換换揚扬損损\
    搖摇搶抢撥拨擇择擊击擋挡擔担據据擠挤擴扩擺摆攜携攝摄攤摊敵敌數数斷断時时晝昼暈晕暢畅暫暂曆历曉晓書书會会東东條条極极構构槍枪樂乐樓楼\
    標标樣样樹树橋桥橢椭檢检檔档櫃柜櫥橱欄栏權权歐欧歡欢歲岁歷历歸归殘残殺杀氣气決决沒没沖冲淚泪淨净淺浅測测湯汤準准溝沟溫温滅灭滑滑滾滚\
    滿满漁渔漢汉漲涨漿浆潔洁潛潜潤润澤泽濃浓濕湿濟济濾滤瀏浏灣湾燈灯燒烧燙烫營营燭烛爐炉爛烂爭争爺爷牆墙牠它狀状獎奖獨独獵猎獸兽獻献玩玩\
    現现琺珐瑪玛環环產产畫画異异當当療疗瘋疯癢痒發发盃杯盜盗盤盘監监眾众睏困瞭了矯矫碼码磚砖礎础礙碍禮礼禦御種种稱称穀谷積积穩稳窗窗窩窝\
    窮穷競竞筆笔筍笋節节範范築筑簡简簽签籃篮籌筹籠笼粵粤糧粮亞亚來来倉仓個个們们倫伦偉伟側侧偵侦備备傘伞傢家傳传傷伤傾倾僅仅價价億亿儀仪\
    優优儲储兒儿內内兩两冊册凍冻刪删則则剛刚創创劃划劇剧劍剑劑剂務务動动勁劲勝胜勞劳勢势勵励勻匀區区協协單单卻却廈厦參参嗎吗嘆叹嘗尝噴喷\
    噸吨嚇吓嚴严囉啰圍围園园圓圆圖图團团報报場场塊块塗涂塵尘墊垫壓压壞坏";

/// Returns the simplified form of a character, or the character.
pub(super) fn simplified(letter: char) -> char {
    if !('\u{4e00}'..='\u{9fff}').contains(&letter) {
        return letter;
    }
    static TABLE: std::sync::LazyLock<std::collections::HashMap<char, char>> = std::sync::LazyLock::new(|| {
        let letters: Vec<char> = PAIRS.chars().collect();
        letters.as_chunks::<2>().0.iter().map(|[traditional, simplified]| (*traditional, *simplified)).collect()
    });
    TABLE.get(&letter).copied().unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_characters_are_compared_as_simplified_ones() {
        let of = |text: &str| text.chars().map(simplified).collect::<String>();
        assert_eq!(of("電動車 雨傘 馬克杯"), "电动车 雨伞 马克杯");
        assert_eq!(of("靴下 雨衣 a"), "靴下 雨衣 a");
        assert!(PAIRS.chars().count().is_multiple_of(2));
    }
}
